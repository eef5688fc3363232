#include "sheaf/hub/generation_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hub/sample_models.h"
#include "sheaf/base/error.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"

namespace sheaf::hub {
namespace {

using sheaf::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(GenerationConfig, MeansWhatTransformersMeansByNothing) {
  const GenerationConfig config = parse_generation_config("{}");
  EXPECT_FALSE(config.do_sample);
  EXPECT_EQ(config.temperature, 1);
  EXPECT_EQ(config.top_k, 50);
  EXPECT_EQ(config.top_p, 1);
  EXPECT_EQ(config.repetition_penalty, 1);
  EXPECT_THAT(config.eos_token_ids, IsEmpty());
  EXPECT_EQ(config.bos_token_id, std::nullopt);
}

TEST(GenerationConfig, ReadsWhatItSays) {
  const GenerationConfig config = parse_generation_config(
      R"({"do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.95, "bos_token_id": 1,
          "repetition_penalty": 1.2, "eos_token_id": [2, 7], "max_length": 20, "unknown": {}})");
  EXPECT_TRUE(config.do_sample);
  EXPECT_EQ(config.temperature, 0.6);
  EXPECT_EQ(config.top_k, 20);
  EXPECT_EQ(config.top_p, 0.95);
  EXPECT_EQ(config.repetition_penalty, 1.2);
  EXPECT_THAT(config.eos_token_ids, ElementsAre(2, 7));
  EXPECT_EQ(config.bos_token_id, 1);
}

TEST(GenerationConfig, TakesNullsAndZerosForWhatTheyMean) {
  const GenerationConfig config = parse_generation_config(
      R"({"do_sample": true, "temperature": 0, "top_k": 0, "top_p": null, "eos_token_id": 5})");
  EXPECT_FALSE(config.do_sample);
  EXPECT_EQ(config.top_k, 0);
  EXPECT_EQ(config.top_p, 1);
  EXPECT_THAT(config.eos_token_ids, ElementsAre(5));
}

TEST(GenerationConfig, RefusesByName) {
  const auto error_in = [](const std::string& text) {
    return error_of([&] { static_cast<void>(parse_generation_config(text)); });
  };
  EXPECT_THAT(error_in("[]"), HasSubstr("must be an object"));
  EXPECT_THAT(error_in(R"({"do_sample": 1})"), HasSubstr("do_sample must be true or false"));
  EXPECT_THAT(error_in(R"({"temperature": -1})"), HasSubstr("temperature must be"));
  EXPECT_THAT(error_in(R"({"temperature": "hot"})"), HasSubstr("temperature must be"));
  EXPECT_THAT(error_in(R"({"top_k": 1.5})"), HasSubstr("top_k must be"));
  EXPECT_THAT(error_in(R"({"top_p": 2})"), HasSubstr("top_p must be a number from 0 to 1, got 2"));
  EXPECT_THAT(error_in(R"({"repetition_penalty": 0})"), HasSubstr("repetition_penalty must be"));
  EXPECT_THAT(error_in(R"({"eos_token_id": -1})"), HasSubstr("eos_token_id must be a token"));
  EXPECT_THAT(error_in(R"({"eos_token_id": [1, "x"]})"), HasSubstr("eos_token_id must be a token"));
  EXPECT_THAT(error_in(R"({"bos_token_id": {}})"), HasSubstr("bos_token_id must be a token"));
}

TEST(GenerationConfig, IsReadFromAFolderOrItsConfig) {
  const sheaf::testing::TemporaryFolder folder;
  folder.write("config.json", R"({"eos_token_id": 3, "top_k": 7})");
  EXPECT_THAT(read_generation_config(folder.path()).eos_token_ids, ElementsAre(3));
  EXPECT_EQ(read_generation_config(folder.path()).top_k, 50);
  folder.write("generation_config.json", R"({"eos_token_id": 4, "top_k": 7})");
  EXPECT_THAT(read_generation_config(folder.path()).eos_token_ids, ElementsAre(4));
  EXPECT_EQ(read_generation_config(folder.path()).top_k, 7);
  folder.write("generation_config.json", R"({"top_k": "all"})");
  EXPECT_THAT(error_of([&] { static_cast<void>(read_generation_config(folder.path())); }),
              HasSubstr("generation_config.json: top_k must be"));
}

TEST(GenerationConfig, ReadsWhatIsWrittenHere) {
  EXPECT_THAT(parse_generation_config(format_generation_config({9})).eos_token_ids, ElementsAre(9));
  EXPECT_THAT(parse_generation_config(format_generation_config({9, 1})).eos_token_ids,
              ElementsAre(9, 1));
}

}  // namespace
}  // namespace sheaf::hub
