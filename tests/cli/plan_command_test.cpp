#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/commands.h"
#include "cli/plan/model_argument.h"
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

/// A model as its config.json describes it, and how many parameters it has, as published.
struct Described {
  std::string name;
  json config;
  double parameters;
  std::int64_t context;
};

class AnyDecoder : public ::testing::TestWithParam<Described> {};

TEST_P(AnyDecoder, HasItsSizesUnderOtherNames) {
  const sheaf::testing::TemporaryFolder folder;
  const std::string path = folder.write("config.json", GetParam().config.dump());
  EXPECT_EQ(read_model(path).shape.context, GetParam().context);
  const json page = plan_as_json({"--model=" + path, "--sequence=1024"});
  // Biases, norms and tables of positions are not the same as a Llama's.
  EXPECT_NEAR(
      page["parameters"].get<double>(), GetParam().parameters, 0.01 * GetParam().parameters);
}

const std::vector<Described> kDecoders{{"opt",
                                        {{"model_type", "opt"},
                                         {"num_hidden_layers", 32},
                                         {"hidden_size", 4096},
                                         {"num_attention_heads", 32},
                                         {"ffn_dim", 16384},
                                         {"vocab_size", 50272},
                                         {"max_position_embeddings", 2048}},
                                        6.66e9,
                                        2048},
                                       {"falcon",
                                        {{"model_type", "falcon"},
                                         {"num_hidden_layers", 32},
                                         {"hidden_size", 4544},
                                         {"num_attention_heads", 71},
                                         {"multi_query", true},
                                         {"vocab_size", 65024}},
                                        6.92e9,
                                        2048},
                                       {"bloom",
                                        {{"model_type", "bloom"},
                                         {"n_layer", 30},
                                         {"n_embed", 4096},
                                         {"num_attention_heads", 32},
                                         {"n_inner", nullptr},
                                         {"vocab_size", 250880},
                                         {"seq_length", 2048}},
                                        7.07e9,
                                        2048},
                                       {"gptj",
                                        {{"model_type", "gptj"},
                                         {"n_layer", 28},
                                         {"n_embd", 4096},
                                         {"n_head", 16},
                                         {"n_inner", nullptr},
                                         {"vocab_size", 50400},
                                         {"n_positions", 2048},
                                         {"tie_word_embeddings", false}},
                                        6.05e9,
                                        2048},
                                       {"mpt",
                                        {{"model_type", "mpt"},
                                         {"n_layers", 32},
                                         {"d_model", 4096},
                                         {"n_heads", 32},
                                         {"vocab_size", 50432},
                                         {"max_seq_len", 4096}},
                                        6.65e9,
                                        4096},
                                       {"gemma",
                                        {{"model_type", "gemma"},
                                         {"num_hidden_layers", 18},
                                         {"hidden_size", 2048},
                                         {"num_attention_heads", 8},
                                         {"num_key_value_heads", 1},
                                         {"head_dim", 256},
                                         {"intermediate_size", 16384},
                                         {"vocab_size", 256000},
                                         {"max_position_embeddings", 8192}},
                                        2.51e9,
                                        8192},
                                       {"seeing",
                                        {{"model_type", "llava"},
                                         {"hidden_size", 7},
                                         {"text_config",
                                          {{"model_type", "llama"},
                                           {"num_hidden_layers", 32},
                                           {"hidden_size", 4096},
                                           {"num_attention_heads", 32},
                                           {"intermediate_size", 11008},
                                           {"vocab_size", 32000},
                                           {"max_position_embeddings", 4096}}}},
                                        6.74e9,
                                        4096}};

INSTANTIATE_TEST_SUITE_P(Families,
                         AnyDecoder,
                         ::testing::ValuesIn(kDecoders),
                         [](const auto& given) { return given.param.name; });

/// Returns what is said of Mistral's config.json with one field changed; always one sentence.
std::string refusal_of(const std::string& field, const json& value) {
  const sheaf::testing::TemporaryFolder folder;
  const std::string path = write_config(folder);
  json config = json::parse(folder.read("config.json"));
  config[field] = value;
  const Outcome outcome = plan({"--model=" + folder.write("config.json", config.dump())});
  EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr(path));
  EXPECT_THAT(outcome.err, HasSubstr("model_type must be gpt2, llama or smollm3"));
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  return outcome.err;
}

TEST(PlanCommand, NamesTheFieldOfAConfigThatIsWrong) {
  EXPECT_THAT(refusal_of("hidden_size", nullptr), HasSubstr("it has no hidden_size, n_embd"));
  EXPECT_THAT(refusal_of("hidden_size", "wide"), HasSubstr("hidden_size must be a whole number"));
  EXPECT_THAT(refusal_of("vocab_size", -5), HasSubstr("vocab_size must be a whole number"));
  EXPECT_THAT(refusal_of("num_hidden_layers", 5000), HasSubstr("between 1 and 4096"));
  EXPECT_THAT(refusal_of("num_attention_heads", 8192), HasSubstr("more heads"));
  EXPECT_THAT(refusal_of("num_key_value_heads", 64), HasSubstr("cannot share 64"));
  EXPECT_THAT(refusal_of("tie_word_embeddings", "yes"), HasSubstr("must be true or false"));
  EXPECT_THAT(refusal_of("head_dim", json::array()), HasSubstr("head_dim must be"));
}

TEST(PlanCommand, RefusesMixturesOfExperts) {
  for (const char* name : {"num_local_experts", "num_experts"}) {
    EXPECT_THAT(refusal_of(name, 8),
                HasSubstr(std::string("mixtures of experts are not planned, and ") + name));
  }
}

TEST(PlanCommand, TakesAModelThatCouldHaveExpertsAndHasNone) {
  const sheaf::testing::TemporaryFolder folder;
  static_cast<void>(write_config(folder));
  json config = json::parse(folder.read("config.json"));
  config["num_local_experts"] = 0;
  const json page =
      plan_as_json({"--model=" + folder.write("config.json", config.dump()), "--sequence=4096"});
  EXPECT_EQ(page["parameters"], 7241732096);
}

TEST(PlanCommand, NamesAConfigThatIsNoJson) {
  const sheaf::testing::TemporaryFolder folder;
  const std::string path = folder.write("config.json", "[1, 2");
  const Outcome outcome = plan({"--model=" + path});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr(path));
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
}

TEST(PlanCommand, SaysWhereMoreThanTheLargestBatchWouldFit) {
  const std::vector<std::string> small{"--model=gpt2-tiny", "--sequence=8", "--dropout=0"};
  EXPECT_THAT(plan(small).out, HasSubstr("4096 or more"));
  EXPECT_TRUE(plan_as_json(small)["strategies"][0]["largest_batch_or_more"].get<bool>());
  const json large = plan_as_json({"--model=smollm3-3b"});
  EXPECT_FALSE(large["strategies"][0]["largest_batch_or_more"].get<bool>());
}

TEST(PlanCommand, RefusesWhatItCannotPlan) {
  EXPECT_EQ(plan({}).exit_code, 2);
  EXPECT_THAT(plan({"--model=gpt2-124"}).err, HasSubstr("did you mean gpt2-124m?"));
  EXPECT_THAT(plan({"--model=mnist-cnn"}).err, HasSubstr("only language models"));
  EXPECT_THAT(plan({"--model=gpt2-124m", "--sequence=2048"}).err, HasSubstr("context of 1024"));
}

}  // namespace
}  // namespace sheaf::cli
