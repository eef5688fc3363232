// sheaf generate, with small models and real tokenizers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/program.h"
#include "hub/sample_models.h"
#include "sheaf/data/tokenizer_training.h"
#include "sheaf/hub/load_model.h"
#include "sheaf/models/generate.h"
#include "support/temporary_folder.h"

namespace sheaf::cli {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Result {
  int exit_code = 0;
  std::string out;
  std::string err;
};

Result generate(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "generate");
  std::ostringstream out;
  std::ostringstream err;
  const int exit_code = run_program(commands(), arguments, Console{.out = out, .err = err});
  return {exit_code, out.str(), err.str()};
}

/// A model of bytes; its texts mean nothing.
models::Shape shape_of(const std::string& kind) {
  models::Shape shape = sheaf::testing::odd_shape(kind);
  shape.vocabulary = 256;
  shape.context = 64;
  return shape;
}

class GenerateCommandTest : public ::testing::Test {
 protected:
  GenerateCommandTest() {
    sheaf::testing::write_sample(model_, shape_of("smollm3"));
    folder_.write("run/model/tokenizer.json", data::byte_tokenizer_json());
  }

  [[nodiscard]] std::vector<std::string> command(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"--from", model_});
    return arguments;
  }

  [[nodiscard]] json run_json(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    const Result result = generate(command(std::move(arguments)));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out);
  }

  void expect_refused(const std::vector<std::string>& arguments, const std::string& text) const {
    const Result result = generate(command(arguments));
    EXPECT_EQ(result.exit_code, 2) << text;
    EXPECT_THAT(result.err, HasSubstr(text));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(result.out, "");
  }

  sheaf::testing::TemporaryFolder folder_;
  std::string model_ = folder_.path("run/model");
};

TEST_F(GenerateCommandTest, ContinuesAPromptAndSaysHowFast) {
  const Result result = generate(command({"--prompt", "To be", "--tokens", "5"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("To be"));
  EXPECT_THAT(result.err, ContainsRegex("prompt +5 tokens in .* tokens/s"));
  EXPECT_THAT(result.err, ContainsRegex("generation +5 tokens in .* tokens/s"));
}

TEST_F(GenerateCommandTest, GivesTheTokensOfTheLibrary) {
  const json page = run_json({"--prompt", "To be", "--tokens", "8"});
  const auto model = hub::load_model(hub::ModelFolder(model_));
  const std::string prompt = "To be";
  const auto tokens = models::generate(
      *model, {prompt.begin(), prompt.end()}, {.max_new_tokens = 8, .temperature = 0});
  const std::string expected = json(std::string(tokens.begin(), tokens.end()))
                                   .dump(-1, ' ', false, json::error_handler_t::replace);
  EXPECT_EQ(page["texts"][0]["text"], json::parse(expected));
  EXPECT_EQ(page["texts"][0]["ending"], "length");
  EXPECT_EQ(page["texts"][0]["tokens"], 8);
  EXPECT_EQ(page["prompt_tokens"], 5);
}

TEST_F(GenerateCommandTest, FindsTheModelThatARunHasExported) {
  const Result result =
      generate({"--from", folder_.path("run"), "--prompt", "To be", "--tokens", "3"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr(model_));
}

TEST_F(GenerateCommandTest, ContinuesSeveralPromptsAsEachAlone) {
  folder_.write("lines", "A longer prompt, on a line\n\nx\r\n");
  const json together = run_json({"--prompt",
                                  "To be",
                                  "--prompt",
                                  "One, two",
                                  "--prompts",
                                  folder_.path("lines"),
                                  "--tokens",
                                  "9",
                                  "--batch",
                                  "3"});
  ASSERT_EQ(together["texts"].size(), 4U);
  EXPECT_EQ(together["texts"][3]["prompt"], "x");
  for (const json& each : together["texts"]) {
    const std::string prompt = each["prompt"];
    EXPECT_EQ(run_json({"--prompt", prompt, "--tokens", "9"})["texts"][0], each);
  }
}

TEST_F(GenerateCommandTest, PrintsSeveralTextsOneAfterTheOther) {
  const Result result = generate(command({"--prompt=a", "--prompt=b", "--tokens=1"}));
  EXPECT_THAT(result.out, ContainsRegex("^==> 1 <==\na.*\n==> 2 <==\nb.*\n"));
}

TEST_F(GenerateCommandTest, DrawsBySeed) {
  const auto text = [&](const std::string& seed) -> std::string {
    return run_json(
        {"--prompt=a", "--tokens=20", "--temperature=1", "--seed", seed})["texts"][0]["text"];
  };
  EXPECT_EQ(text("3"), text("3"));
  EXPECT_NE(text("3"), text("4"));
  const json two =
      run_json({"--prompt=a", "--prompt=a", "--tokens=20", "--temperature=1", "--seed=3"});
  EXPECT_EQ(two["texts"][0]["text"], text("3"));
  EXPECT_EQ(two["texts"][1]["text"], text("4"));
}

TEST_F(GenerateCommandTest, FollowsTheGenerationConfigUnlessToldOtherwise) {
  const json greedy = run_json({"--prompt=a", "--tokens=20"});
  folder_.write("run/model/generation_config.json", R"({"do_sample": true, "top_k": 0})");
  const json drawn = run_json({"--prompt=a", "--tokens=20"});
  EXPECT_NE(drawn["texts"], greedy["texts"]);
  EXPECT_EQ(run_json({"--prompt=a", "--tokens=20", "--greedy"})["texts"], greedy["texts"]);
  EXPECT_EQ(run_json({"--prompt=a", "--tokens=20", "--temperature=0"})["texts"], greedy["texts"]);
  EXPECT_EQ(run_json({"--prompt=a", "--tokens=20", "--top-k=1"})["texts"], greedy["texts"]);
}

TEST_F(GenerateCommandTest, EndsAtTheTokenThatEndsTexts) {
  const std::string whole =
      run_json({"--prompt=a", "--tokens=20", "--greedy", "--dtype=fp32"})["texts"][0]["text"];
  // The bytes of the text are its tokens, as long as they are ASCII.
  const auto tokens = models::generate(
      *hub::load_model(hub::ModelFolder(model_)), {'a'}, {.max_new_tokens = 20, .temperature = 0});
  const auto first = std::find(tokens.begin(), tokens.end(), tokens[4]) - tokens.begin();
  folder_.write("run/model/generation_config.json",
                json{{"eos_token_id", {999, tokens[4]}}}.dump());
  const json cut = run_json({"--prompt=a", "--tokens=20"});
  EXPECT_EQ(cut["texts"][0]["tokens"], first);
  EXPECT_EQ(cut["texts"][0]["ending"], "end");
  const json on = run_json({"--prompt=a", "--tokens=20", "--ignore-eos"});
  EXPECT_EQ(on["texts"][0]["text"], whole);
}

TEST_F(GenerateCommandTest, EndsBeforeAStop) {
  const auto tokens = models::generate(
      *hub::load_model(hub::ModelFolder(model_)), {'a'}, {.max_new_tokens = 40, .temperature = 0});
  const auto ascii = std::find_if(tokens.begin(), tokens.end(), [](std::int64_t token) {
    return token > 0x20 && token < 0x7f;
  });
  ASSERT_NE(ascii, tokens.end()) << "no text to stop at";
  const json cut =
      run_json({"--prompt=a", "--tokens=40", "--stop", std::string(1, static_cast<char>(*ascii))});
  EXPECT_EQ(cut["texts"][0]["ending"], "stop");
  EXPECT_EQ(cut["texts"][0]["tokens"], ascii - tokens.begin() + 1);
}

TEST_F(GenerateCommandTest, RefusesWhatCannotBeInOneSentence) {
  const std::string long_prompt(64, 'x');
  expect_refused({}, "--prompt is missing");
  expect_refused({"--prompt", ""}, "an empty text cannot be continued");
  expect_refused({"--prompt", long_prompt}, "context of 64 tokens");
  expect_refused({"--prompt=a", "--tokens=64"}, "room for 63 tokens, got 64");
  expect_refused({"--prompt=a", "--tokens=-1"}, "--tokens");
  expect_refused({"--prompt=a", "--temperature=-2"}, "--temperature");
  expect_refused({"--prompt=a", "--temperature=-0.5"}, "--temperature: must be at least 0");
  expect_refused({"--prompt=a", "--top-p=1.5"}, "--top-p");
  expect_refused({"--prompt=a", "--repetition-penalty=0"}, "--repetition-penalty: must be above 0");
  expect_refused({"--prompt=a", "--greedy", "--top-k=5"}, "--greedy always takes the likeliest");
  expect_refused({"--prompt=a", "--stop="}, "--stop: the text is empty");
  expect_refused({"--prompt=a", "--dtype=int4"}, "keep, fp32, bf16 or fp16");
  expect_refused({"--prompts", folder_.path("none")}, "--prompts: cannot read");
  expect_refused({"--prompts", folder_.write("empty", "\n\n")}, "no line with a text");
  expect_refused({"--prompt=a", "--tokenizer", folder_.path("none")}, "tokenizer ");
  folder_.write("run/model/generation_config.json", R"({"top_p": 3})");
  expect_refused({"--prompt=a"}, "generation_config.json: top_p must be");
}

TEST_F(GenerateCommandTest, SaysWhatIsMissingInAFolder) {
  sheaf::testing::write_sample(folder_.path("bare"), shape_of("gpt2"));
  const Result bare = generate({"--from", folder_.path("bare"), "--prompt=a"});
  EXPECT_EQ(bare.exit_code, 2);
  EXPECT_THAT(bare.err, HasSubstr("say --tokenizer"));
  const Result bytes =
      generate({"--from", folder_.path("bare"), "--prompt=a", "--tokenizer=bytes", "--tokens=2"});
  EXPECT_EQ(bytes.exit_code, 0) << bytes.err;
  const Result other =
      generate({"--from", folder_.path("bare"), "--prompt=a thing", "--tokenizer", SHEAF_GPT2});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("which knows 256 tokens, got token"));
  EXPECT_EQ(generate({"--prompt=a"}).exit_code, 2);
  EXPECT_THAT(generate({"--from", folder_.path("none"), "--prompt=a"}).err,
              HasSubstr("there is no folder"));
}

TEST_F(GenerateCommandTest, BeginsAnEmptyPromptWithTheFirstToken) {
  folder_.write("run/model/generation_config.json", R"({"bos_token_id": 97})");
  EXPECT_EQ(run_json({"--prompt=", "--tokens=5"})["texts"][0]["text"],
            run_json({"--prompt=a", "--tokens=5"})["texts"][0]["text"]);
}

TEST_F(GenerateCommandTest, ComputesInAnotherType) {
  EXPECT_EQ(run_json({"--prompt=a", "--tokens=3", "--dtype=bf16"})["dtype"], "bf16");
}

}  // namespace
}  // namespace sheaf::cli
