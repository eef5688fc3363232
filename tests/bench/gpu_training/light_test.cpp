#include "gpu_training/light.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sheaf/base/error.h"

namespace sheaf::bench {
namespace {

using nlohmann::json;

// Every product takes 0.1 ms, attention 0.5 ms, and a copy moves 4 TB a second; in bursts 0.09 ms,
// 0.4 ms and 5 TB.
json answers_to(const json& questions) {
  json answers{{"linears", json::array()},
               {"attention", {{"ms", 0.5}, {"burst_ms", 0.4}}},
               {"copy_bytes_per_second", 4e12},
               {"burst_copy_bytes_per_second", 5e12}};
  const json pass = {{"ms", 0.1}, {"burst_ms", 0.09}};
  for (const json& linear : questions.at("linears")) {
    answers["linears"].push_back({{"name", linear.at("name")}, {"passes", {pass, pass, pass}}});
  }
  return answers;
}

TEST(Light, AddsUpEveryCallOfAStep) {
  const Row& row = find_row("gpt2-large-b8");
  const StepWork work = work_of(row);
  const Light light = light_of(work, answers_to(questions_of(work, row)));
  EXPECT_NEAR(light.milliseconds.at(KernelClass::gemm), (4 * 36 + 1) * 3 * 0.1, 1e-9);
  EXPECT_NEAR(light.milliseconds.at(KernelClass::attention), 36 * 0.5, 1e-9);
  EXPECT_NEAR(light.milliseconds.at(KernelClass::optimizer), 28.0 * 774030080 / 4e9, 1e-9);
}

TEST(Light, AddsUpBurstsBesideIt) {
  const Row& row = find_row("gpt2-large-b8");
  const StepWork work = work_of(row);
  const Light light = light_of(work, answers_to(questions_of(work, row)));
  const auto& bursts = light.burst_milliseconds;
  EXPECT_NEAR(bursts.at(KernelClass::gemm), (4 * 36 + 1) * 3 * 0.09, 1e-9);
  EXPECT_NEAR(bursts.at(KernelClass::attention), 36 * 0.4, 1e-9);
  EXPECT_NEAR(bursts.at(KernelClass::optimizer), 28.0 * 774030080 / 5e9, 1e-9);
}

TEST(Light, IsTheSumOfItsClasses) {
  Light light;
  light.milliseconds = {{KernelClass::gemm, 54.5}, {KernelClass::loss, 0.5}};
  light.burst_milliseconds = {{KernelClass::gemm, 50}, {KernelClass::loss, 0.25}};
  EXPECT_DOUBLE_EQ(light.step_ms(), 55);
  EXPECT_DOUBLE_EQ(light.burst_step_ms(), 50.25);
}

TEST(Light, AsksForEveryCallOfAStep) {
  const Row& row = find_row("gpt2-large-b8");
  const json questions = questions_of(work_of(row), row);
  EXPECT_EQ(questions.at("linears").front().at("calls"), 36);
  EXPECT_EQ(questions.at("linears").back().at("calls"), 1);
  EXPECT_EQ(questions.at("attention").at("calls"), 36);
}

TEST(Light, TakesWhatWasReplayedForProductsAndAttentionWithoutRest) {
  const Row& row = find_row("gpt2-large-b8");
  const StepWork work = work_of(row);
  json answers = answers_to(questions_of(work, row));
  answers["sustained"] = {{"products_and_attention_ms", 70}};
  const Light light = light_of(work, answers);
  const double long_ms =
      light.milliseconds.at(KernelClass::gemm) + light.milliseconds.at(KernelClass::attention);
  ASSERT_TRUE(light.sustained_ms().has_value());
  EXPECT_NEAR(*light.sustained_ms(), light.step_ms() - long_ms + 70, 1e-9);
}

TEST(Light, HasNothingWithoutRestWhereNothingWasReplayed) {
  const Row& row = find_row("gpt2-large-b8");
  const StepWork work = work_of(row);
  json answers = answers_to(questions_of(work, row));
  EXPECT_EQ(light_of(work, answers).sustained_ms(), std::nullopt);
  answers["sustained"] = {{"failed", "out of memory"}};
  EXPECT_EQ(light_of(work, answers).sustained_ms(), std::nullopt);
}

TEST(Light, NamesTheProductThatWasNotMeasured) {
  const Row& row = find_row("gpt2-large-b8");
  const StepWork work = work_of(row);
  json answers = answers_to(questions_of(work, row));
  answers["linears"].erase(1);
  try {
    static_cast<void>(light_of(work, answers));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("attention out"));
  }
}

}  // namespace
}  // namespace sheaf::bench
