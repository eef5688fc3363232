#include "gpu_training/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_training/contestants.h"
#include "sheaf/base/error.h"

namespace sheaf::bench {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Rows, RefusesAnUnknownNameWithThoseThereAre) {
  try {
    static_cast<void>(find_row("gpt3"));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("smollm3-3b-t8192"));
    EXPECT_THAT(error.what(), HasSubstr("'gpt3'"));
  }
}

TEST(Rows, AsksSheafForTheArithmeticOfTheRow) {
  EXPECT_THAT(sheaf_options(find_row("gpt2-large-b8-tf32")), Contains("--precision.compute=tf32"));
  EXPECT_THAT(sheaf_options(find_row("smollm3-3b-t8192")), Contains("--optimizer.moments=bf16"));
}

TEST(Rows, TakesAChangeInPlaceOfItsOwnOption) {
  const auto options =
      sheaf_options(find_row("gpt2-large-b8"), {"optimizer.clip=1", "train.graph=off"});
  EXPECT_THAT(options, Contains("--optimizer.clip=1"));
  EXPECT_THAT(options, Not(Contains("--optimizer.clip=0")));
  EXPECT_THAT(options, Contains("--train.graph=off"));
}

TEST(Rows, TrainsOnTextsOfTheRowsLength) {
  const Row& row = find_row("smollm3-3b-t8192");
  EXPECT_EQ(shape_of(row).context, 8192);
  EXPECT_THAT(sheaf_options(row), Contains("--model.context=8192"));
}

nlohmann::json task_of_row(const char* name, PyTorchStyle style) {
  Contest contest;
  contest.row = find_row(name);
  contest.work = work_of(contest.row);
  return task_of(contest, style);
}

TEST(Rows, TunePyTorchWithAPaddedVocabularyAndTheFastestAttention) {
  for (const PyTorchStyle style : {PyTorchStyle::tuned, PyTorchStyle::compiled}) {
    const auto task = task_of_row("gpt2-large-b8", style);
    EXPECT_EQ(task.at("shape").at("vocabulary"), 50304);
    EXPECT_EQ(task.at("tokens"), 50257);
    EXPECT_EQ(task.at("attention"), "");
  }
}

TEST(Rows, LeavePlainPyTorchItsVocabularyAndFlashAttention) {
  const auto task = task_of_row("gpt2-large-b8", PyTorchStyle::plain);
  EXPECT_EQ(task.at("shape").at("vocabulary"), 50257);
  EXPECT_EQ(task.at("attention"), "flash");
  EXPECT_EQ(task_of_row("smollm3-3b-t8192", PyTorchStyle::plain).at("attention"), "flash");
}

TEST(Rows, LeavePlainPyTorchItsChoiceWhereThereIsNoFlashAttention) {
  EXPECT_EQ(task_of_row("gpt2-large-b8-tf32", PyTorchStyle::plain).at("attention"), "default");
  EXPECT_EQ(task_of_row("gpt2-tiny-cpu", PyTorchStyle::plain).at("attention"), "default");
}

}  // namespace
}  // namespace sheaf::bench
