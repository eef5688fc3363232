#include "sheaf/hub/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "hub/sample_models.h"
#include "sheaf/base/error.h"
#include "sheaf/hub/config.h"
#include "sheaf/hub/model_folder.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"

namespace sheaf::hub {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::error_of;
using ::testing::HasSubstr;
using testing::odd_shape;
using testing::odd_values;
using testing::read_sample;
using testing::require_equal;
using testing::TemporaryFolder;

TEST(Convert, KeepsValuesAndTypesUnlessAsked) {
  const TemporaryFolder folder;
  for (const std::string& kind : testing::kinds()) {
    testing::write_sample(folder.path("from"), odd_shape(kind), {.dtype = at::kHalf});
    const Converted done =
        convert({.from = folder.path("from"), .to = folder.path("to"), .overwrite = true});
    EXPECT_EQ(done.files, 1U);
    EXPECT_EQ(done.tensors, parameters_of(odd_shape(kind)).size());
    EXPECT_EQ(folder.read("to/model.safetensors"), folder.read("from/model.safetensors"));
    EXPECT_EQ(folder.read("to/config.json"), folder.read("from/config.json"));
  }
}

TEST(Convert, RefusesFoldersInsideOneAnother) {
  const TemporaryFolder folder;
  testing::write_sample(folder.path("model"), odd_shape("llama"));
  testing::write_sample(folder.path("model/inner"), odd_shape("llama"));
  const auto refused = [&](const std::string& from, const std::string& to) {
    return error_of(
        [&] { convert({.from = folder.path(from), .to = folder.path(to), .overwrite = true}); });
  };
  EXPECT_THAT(refused("model/inner", "model"), HasSubstr("neither inside the other"));
  EXPECT_THAT(refused("model", "model/new"), HasSubstr("neither inside the other"));
  EXPECT_TRUE(fs::exists(folder.path("model/inner/model.safetensors")));
}

TEST(Convert, ChangesTheType) {
  const TemporaryFolder folder;
  const auto shape = odd_shape("llama");
  testing::write_sample(folder.path("from"), shape);
  for (const auto& [type, scalar] : {std::pair{WeightType::bf16, at::kBFloat16},
                                     std::pair{WeightType::fp16, at::kHalf},
                                     std::pair{WeightType::fp32, at::kFloat}}) {
    convert(
        {.from = folder.path("from"), .to = folder.path("to"), .dtype = type, .overwrite = true});
    const auto values = read_sample(folder.path("to"));
    for (const auto& [name, value] : odd_values(shape)) {
      require_equal(values.at(name), value.to(scalar).to(at::kFloat), name);
    }
    const ModelFolder written(folder.path("to"));
    for (const auto& each : written.parameters()) EXPECT_EQ(each.dtype, scalar);
  }
}

TEST(Convert, SaysTheNewTypeInTheConfigAndKeepsTheRest) {
  const TemporaryFolder folder;
  testing::write_sample(folder.path("from"), odd_shape("gpt2"));
  json config = json::parse(folder.read("from/config.json"));
  config["my_field"] = {{"nested", true}};
  folder.write("from/config.json", config.dump());
  convert({.from = folder.path("from"), .to = folder.path("to"), .dtype = WeightType::bf16});
  config["torch_dtype"] = "bfloat16";
  EXPECT_EQ(json::parse(folder.read("to/config.json")), config);
}

TEST(Convert, JoinsAndSplitsFiles) {
  const TemporaryFolder folder;
  const auto shape = odd_shape("smollm3");
  testing::write_sample(folder.path("parts"), shape, {.shard_size = Bytes{30'000}});
  convert({.from = folder.path("parts"), .to = folder.path("one")});
  EXPECT_TRUE(fs::exists(folder.path("one/model.safetensors")));
  EXPECT_GT(
      convert({.from = folder.path("one"), .to = folder.path("two"), .shard_size = {50'000}}).files,
      1U);
  for (const auto& [name, value] : read_sample(folder.path("two"))) {
    require_equal(value, odd_values(shape).at(name), name);
  }
}

TEST(Convert, LeavesNothingBehindWhenItFails) {
  const TemporaryFolder folder;
  testing::write_sample(folder.path("from"), odd_shape("gpt2"));
  std::string bytes = folder.read("from/model.safetensors");
  // The largest number of fp32, somewhere among the values.
  bytes.replace(bytes.size() - 4, 4, std::string("\xff\xff\x7f\x7f", 4));
  folder.write("from/model.safetensors", bytes);
  EXPECT_THAT(
      error_of([&] {
        convert({.from = folder.path("from"), .to = folder.path("to"), .dtype = WeightType::fp16});
      }),
      HasSubstr("65504 that fp16 can hold: take bf16"));
  EXPECT_THAT(folder.names(), ::testing::ElementsAre("from"));
}

TEST(Convert, RefusesFoldersThatCannotBe) {
  const TemporaryFolder folder;
  testing::write_sample(folder.path("from"), odd_shape("gpt2"));
  folder.write("full/file", "");
  const auto refused = [&](const std::string& from, const std::string& to) {
    return error_of([&] { convert({.from = from, .to = to}); });
  };
  EXPECT_THAT(refused("", ""), HasSubstr("--from DIR and --to DIR"));
  EXPECT_THAT(refused(folder.path("from"), ""), HasSubstr("--to DIR"));
  EXPECT_THAT(refused(folder.path("no"), folder.path("to")), HasSubstr("there is no folder"));
  EXPECT_THAT(refused(folder.path("from"), folder.path("full")), HasSubstr("is not empty"));
  EXPECT_THAT(refused(folder.path("from"), folder.path("full/../from/")), HasSubstr("another"));
}

TEST(Convert, ReplacesAModelOnlyWhenAskedTo) {
  const TemporaryFolder folder;
  testing::write_sample(folder.path("from"), odd_shape("gpt2"));
  testing::write_sample(folder.path("to"), odd_shape("llama"));
  EXPECT_THAT(error_of([&] { convert({.from = folder.path("from"), .to = folder.path("to")}); }),
              HasSubstr("is not empty"));
  convert({.from = folder.path("from"), .to = folder.path("to"), .overwrite = true});
  EXPECT_EQ(ModelFolder(folder.path("to")).config().shape.family, models::Family::gpt2);
  EXPECT_THAT(folder.names(), ::testing::ElementsAre("from", "to"));
}

}  // namespace
}  // namespace sheaf::hub
