#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/commands.h"
#include "cli/program.h"
#include "support/temporary_folder.h"

namespace sheaf::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct Outcome {
  int exit_code = 0;
  std::string out;
  std::string err;
};

Outcome plan(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "plan");
  std::ostringstream out;
  std::ostringstream err;
  const int exit_code = run_program(commands(), arguments, Console{.out = out, .err = err});
  return {exit_code, out.str(), err.str()};
}

json plan_as_json(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  const Outcome outcome = plan(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return json::parse(outcome.out);
}

/// Writes the config.json of a model that sheaf has no code for.
std::string write_config(const sheaf::testing::TemporaryFolder& folder) {
  const json config{{"model_type", "mistral"},
                    {"num_hidden_layers", 32},
                    {"hidden_size", 4096},
                    {"num_attention_heads", 32},
                    {"num_key_value_heads", 8},
                    {"intermediate_size", 14336},
                    {"vocab_size", 32000},
                    {"max_position_embeddings", 32768}};
  return folder.write("config.json", config.dump());
}

TEST(PlanCommand, PrintsWhatFitsAndARecommendation) {
  const Outcome outcome = plan({"--model=smollm3-3b", "--sequence=8192", "--batch=1,4"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("3,075,098,624 parameters, texts of 8,192 tokens, bf16"));
  EXPECT_THAT(outcome.out, HasSubstr("strategy"));
  EXPECT_THAT(outcome.out, HasSubstr("fits"));
  EXPECT_THAT(outcome.out, HasSubstr("recommended for batch"));
}

TEST(PlanCommand, SaysWhichStrategiesDoNotFit) {
  const json page = plan_as_json({"--model=llama-7b", "--memory=40GiB", "--batch=1"});
  EXPECT_EQ(page["strategies"][0]["strategy"], "ddp");
  EXPECT_FALSE(page["strategies"][0]["batches"][0]["fits"]);
  EXPECT_EQ(page["strategies"][0]["largest_batch"], 0);
  EXPECT_TRUE(page["strategies"][4]["batches"][0]["fits"]);
  EXPECT_EQ(page["recommendation"]["strategy"].is_string(), true);
}

TEST(PlanCommand, SaysWhatDropoutOfAttentionCosts) {
  const Outcome with = plan({"--model=gpt2-124m", "--batch=4"});
  EXPECT_THAT(with.out, HasSubstr("attention with dropout 0.1 keeps all its weights"));
  const auto peak = [](const std::string& dropout) {
    const json page = plan_as_json({"--model=gpt2-124m", "--batch=4", "--dropout=" + dropout});
    return page["strategies"][0]["batches"][0]["peak"].get<std::int64_t>();
  };
  EXPECT_GT(2 * peak("0.1"), 3 * peak("0"));
}

TEST(PlanCommand, RecommendsNothingWhereNothingFits) {
  const json page = plan_as_json({"--model=llama-13b", "--devices=2", "--memory=16GiB"});
  EXPECT_TRUE(page["recommendation"]["strategy"].is_null());
  EXPECT_THAT(page["recommendation"]["reason"].get<std::string>(), HasSubstr("nothing fits"));
}

TEST(PlanCommand, WorksOutHoursAndCost) {
  const json page = plan_as_json({"--model=smollm3-3b",
                                  "--sequence=8192",
                                  "--devices=4",
                                  "--tokens=1e9",
                                  "--price=2.5",
                                  "--mfu=0.2",
                                  "--device-kind=NVIDIA H100 80GB HBM3"});
  const double hours = page["bill"]["seconds"].get<double>() / 3600;
  EXPECT_NEAR(page["bill"]["cost"].get<double>(), hours * 4 * 2.5, 1e-6);
  // 4 x 989 TFLOP/s at 20 % against 6N + 12 L d T.
  EXPECT_NEAR(page["bill"]["tokens_per_second"].get<double>(), 33.6e3, 3e3);
}

TEST(PlanCommand, NeedsASpeedForHours) {
  EXPECT_THAT(plan({"--model=gpt2-124m", "--tokens=1e9"}).err, HasSubstr("--device-kind"));
  EXPECT_THAT(plan({"--model=gpt2-124m", "--tokens=1e9", "--device-kind=Abacus"}).err,
              HasSubstr("no rate known of Abacus"));
}

TEST(PlanCommand, TakesAnyConfigOfHuggingFace) {
  const sheaf::testing::TemporaryFolder folder;
  const json page = plan_as_json({"--model=" + write_config(folder), "--sequence=4096"});
  EXPECT_EQ(page["parameters"], 7241732096);  // as published
  EXPECT_THAT(page["note"].get<std::string>(), HasSubstr("model_type"));
  EXPECT_EQ(plan_as_json({"--model=" + folder.path(), "--sequence=4096"})["parameters"],
            page["parameters"]);
}

TEST(PlanCommand, RefusesWhatItCannotPlan) {
  EXPECT_EQ(plan({}).exit_code, 2);
  EXPECT_THAT(plan({"--model=gpt2-124"}).err, HasSubstr("did you mean gpt2-124m?"));
  EXPECT_THAT(plan({"--model=mnist-cnn"}).err, HasSubstr("only language models"));
  EXPECT_THAT(plan({"--model=gpt2-124m", "--sequence=2048"}).err, HasSubstr("context of 1024"));
}

}  // namespace
}  // namespace sheaf::cli
