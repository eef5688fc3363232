#include "sheaf/hub/model_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hub/sample_models.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"

namespace sheaf::hub {
namespace {

using checkpoint::TensorSpec;
using testing::odd_shape;
using testing::odd_values;
using testing::read_sample;
using testing::require_equal;
using testing::TemporaryFolder;
using testing::Values;

void require_same(const Values& actual, const Values& expected, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (const auto& [name, value] : expected) require_equal(actual.at(name), value, what + name);
}

/// Writes a folder whose tensors have other names, and some more of them.
void write_renamed(const TemporaryFolder& folder,
                   const models::Shape& shape,
                   const std::function<std::string(std::string)>& rename,
                   const std::vector<std::string>& more) {
  const Values values = odd_values(shape);
  FolderContents contents{.config = format_config(shape, at::kFloat)};
  for (const auto& [name, value] : values) {
    contents.parameters.push_back({rename(name), at::kFloat, value.sizes().vec()});
  }
  for (const std::string& name : more) contents.parameters.push_back({name, at::kBool, {1}});
  FolderWriter writer(folder.path(), contents);
  for (const auto& [name, value] : values) writer.write(rename(name), 0, value);
  for (const std::string& name : more) writer.write(name, 0, at::ones({1}));
  writer.finish();
}

std::string without_first_part(const std::string& name) { return name.substr(name.find('.') + 1); }

TEST(ParametersOf, HaveTheNamesOfTransformersAndTiedOnesOnce) {
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const TensorSpec& each : parameters_of(odd_shape("gpt2"))) shapes[each.name] = each.shape;
  EXPECT_EQ(shapes.at("transformer.h.1.attn.c_attn.weight"), (std::vector<std::int64_t>{48, 144}));
  EXPECT_FALSE(shapes.contains("lm_head.weight"));
  EXPECT_EQ(parameters_of(odd_shape("llama")).back().name, "lm_head.weight");
}

TEST(ModelFolder, GivesBackWhatWasWritten) {
  for (const std::string& kind : testing::kinds()) {
    const TemporaryFolder folder;
    testing::write_sample(folder.path(), odd_shape(kind));
    require_same(read_sample(folder.path()), odd_values(odd_shape(kind)), kind);
    testing::write_sample(folder.path(), odd_shape(kind), {.shard_size = Bytes{20'000}});
    EXPECT_GT(ModelFolder(folder.path()).num_files(), 2U);
    require_same(read_sample(folder.path()), odd_values(odd_shape(kind)), kind + " in parts");
  }
}

TEST(ModelFolder, ConvertsTypes) {
  const TemporaryFolder folder;
  testing::write_sample(folder.path(), odd_shape("llama"), {.dtype = at::kBFloat16});
  Values expected = odd_values(odd_shape("llama"));
  for (auto& [name, value] : expected) value = value.to(at::kBFloat16).to(at::kFloat);
  require_same(read_sample(folder.path()), expected, "bf16");
}

TEST(ModelFolder, MayBeSavedWithoutItsHead) {
  for (const char* kind : {"gpt2", "smollm3"}) {
    const TemporaryFolder folder;
    write_renamed(folder, odd_shape(kind), without_first_part, {});
    require_same(read_sample(folder.path()), odd_values(odd_shape(kind)), kind);
  }
}

TEST(ModelFolder, MayHoldWhatNobodyLearns) {
  const auto same = [](const std::string& name) { return name; };
  const TemporaryFolder gpt2;
  write_renamed(
      gpt2,
      odd_shape("gpt2"),
      same,
      {"transformer.h.0.attn.bias", "transformer.h.0.attn.masked_bias", "lm_head.weight"});
  require_same(read_sample(gpt2.path()), odd_values(odd_shape("gpt2")), "gpt2");
  const TemporaryFolder llama;
  write_renamed(llama, odd_shape("llama"), same, {"model.layers.0.self_attn.rotary_emb.inv_freq"});
  require_same(read_sample(llama.path()), odd_values(odd_shape("llama")), "llama");
}

TEST(ModelFolder, MayHaveATiedWeightUnderTheHeadsName) {
  const TemporaryFolder folder;
  const auto rename = [](const std::string& name) {
    return name == "model.embed_tokens.weight" ? "lm_head.weight" : name;
  };
  write_renamed(folder, odd_shape("smollm3"), rename, {});
  require_same(read_sample(folder.path()), odd_values(odd_shape("smollm3")), "smollm3");
}

}  // namespace
}  // namespace sheaf::hub
