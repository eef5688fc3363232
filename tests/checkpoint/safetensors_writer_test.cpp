#include "sheaf/checkpoint/safetensors_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sheaf/base/error.h"
#include "support/on_ranks.h"
#include "support/safetensors.h"
#include "support/temporary_folder.h"

namespace sheaf::checkpoint {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::read_safetensors;
using testing::require_equal;
using testing::TemporaryFolder;

SafetensorsPlan small_plan() {
  return SafetensorsPlan({{"half", at::kHalf, {3}}, {"whole", at::kFloat, {2, 2}}},
                         {{"format", "pt"}});
}

TEST(SafetensorsPlan, AlignsEveryTensorToItsType) {
  const SafetensorsPlan plan({{"a", at::kByte, {3}},
                              {"b", at::kHalf, {3}},
                              {"c", at::kDouble, {1}},
                              {"d", at::kFloat, {5}}});
  EXPECT_EQ(plan.header().size() % 8, 0U);
  for (const TensorEntry& entry : plan.tensors()) {
    EXPECT_EQ(entry.begin % c10::elementSize(entry.tensor.dtype), 0U) << entry.tensor.name;
  }
  EXPECT_EQ(plan.size(), plan.header().size() + 3 + 6 + 8 + 20);
}

TEST(SafetensorsPlan, RefusesTwoTensorsOfOneName) {
  const std::string text = error_of([] {
    SafetensorsPlan({{"a", at::kFloat, {1}}, {"a", at::kFloat, {2}}});
  });
  EXPECT_THAT(text, HasSubstr("two tensors named 'a'"));
}

TEST(SafetensorsPlan, RefusesATypeThatTheFormatDoesNotHave) {
  const std::string text = error_of([] { SafetensorsPlan({{"a", at::kComplexFloat, {1}}}); });
  EXPECT_THAT(text, HasSubstr("ComplexFloat"));
}

TEST(SafetensorsWriter, TakesPartsInAnyOrderFromSeveralWriters) {
  const TemporaryFolder folder;
  SafetensorsWriter first(folder.path("a"), small_plan());
  SafetensorsWriter other(folder.path("a"), small_plan(), WriterRole::other);
  other.write("whole", 2, at::tensor({3.0, 4.0}));
  first.write("half", 0, at::tensor({5.0F, 6.0F, 7.0F}));
  first.write("whole", 0, at::tensor({1.0F, 2.0F}));
  other.finish();
  first.finish();
  const auto tensors = read_safetensors(folder.path("a"));
  require_equal(tensors.at("whole"), at::tensor({1.0F, 2.0F, 3.0F, 4.0F}).view({2, 2}), "whole");
  require_equal(tensors.at("half"), at::tensor({5.0F, 6.0F, 7.0F}).to(at::kHalf), "half");
  EXPECT_EQ(first.written() + other.written(), 16U + 6U);
}

TEST(SafetensorsWriter, LeavesTheOldFileUntilTheNewOneIsWhole) {
  const TemporaryFolder folder;
  folder.write("a", "old");
  {
    SafetensorsWriter writer(folder.path("a"), small_plan());
    writer.write("whole", 0, at::ones({4}));
    EXPECT_EQ(folder.read("a"), "old");
  }
  EXPECT_EQ(folder.read("a"), "old");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
  SafetensorsWriter writer(folder.path("a"), small_plan());
  writer.finish();
  EXPECT_EQ(folder.read("a").size(), small_plan().size());
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(SafetensorsWriter, RefusesValuesThatThePlanHasNoPlaceFor) {
  const TemporaryFolder folder;
  SafetensorsWriter writer(folder.path("a"), small_plan());
  EXPECT_THAT(error_of([&] { writer.write("whole", 3, at::ones({2})); }),
              HasSubstr("'whole' has 4 elements"));
  EXPECT_THAT(error_of([&] { writer.write("none", 0, at::ones({1})); }),
              HasSubstr("'none' has 0 elements"));
}

TEST(SafetensorsWriter, SaysWhichFileItCannotWrite) {
  const TemporaryFolder folder;
  EXPECT_THROW(SafetensorsWriter(folder.path("no/a"), small_plan()), IoError);
  EXPECT_THROW(SafetensorsWriter(folder.path("a"), small_plan(), WriterRole::other), IoError);
}

}  // namespace
}  // namespace sheaf::checkpoint
