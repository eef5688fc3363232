#include "sheaf/checkpoint/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sheaf/base/error.h"
#include "support/on_ranks.h"
#include "support/safetensors.h"
#include "support/temporary_folder.h"

namespace sheaf::checkpoint {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::require_equal;
using testing::TemporaryFolder;
using testing::write_safetensors;

std::vector<std::string> names_of(const WeightFile& file) {
  std::vector<std::string> names;
  for (const TensorSpec& tensor : file.tensors) names.push_back(tensor.name);
  return names;
}

TEST(SplitWeights, FillsFilesInOrderAndNamesThemAsTransformersDoes) {
  const auto files = split_weights({{"a", at::kFloat, {2}},
                                    {"b", at::kFloat, {2}},
                                    {"c", at::kFloat, {9}},
                                    {"d", at::kFloat, {1}}},
                                   Bytes{16});
  ASSERT_EQ(files.size(), 3U);
  EXPECT_THAT(names_of(files[0]), ElementsAre("a", "b"));
  EXPECT_THAT(names_of(files[1]), ElementsAre("c"));
  EXPECT_THAT(names_of(files[2]), ElementsAre("d"));
  EXPECT_EQ(files[1].name, "model-00002-of-00003.safetensors");
}

TEST(SplitWeights, MakesOneFileOfWhatFits) {
  const auto files = split_weights({{"a", at::kFloat, {4}}}, Bytes{16});
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].name, "model.safetensors");
}

TEST(WeightIndex, ReadsWhatItWrites) {
  const WeightMap map{{"a", "x.safetensors"}, {"b", "y.safetensors"}};
  EXPECT_EQ(parse_index(format_index(map, Bytes{24})), map);
}

/// Two files and their index.
void write_two(const TemporaryFolder& folder) {
  write_safetensors(folder.path("x.safetensors"), {{"a", at::ones({2})}, {"z", at::ones({1})}});
  write_safetensors(folder.path("y.safetensors"), {{"b", at::zeros({3})}});
  folder.write(kIndexName, format_index({{"a", "x.safetensors"}, {"b", "y.safetensors"}}, {20}));
}

TEST(Weights, AreThoseThatTheIndexLists) {
  const TemporaryFolder folder;
  write_two(folder);
  const Weights weights(folder.path());
  EXPECT_THAT(weights.names(), ElementsAre("a", "b"));
  EXPECT_EQ(weights.num_files(), 2U);
  EXPECT_EQ(weights.find("z"), nullptr);
  const at::Tensor values = at::empty({3});
  weights.read("b", 0, values);
  require_equal(values, at::zeros({3}), "b");
}

TEST(Weights, OfOneFileAreAllThatItHolds) {
  const TemporaryFolder folder;
  write_two(folder);
  write_safetensors(folder.path(kWeightsName), {{"q", at::ones({2})}});
  EXPECT_THAT(Weights(folder.path()).names(), ElementsAre("q"));
}

TEST(Weights, ThatAreNotThereAreNamed) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of([&] { Weights(folder.path()); }), HasSubstr("has no weights"));
  folder.write("pytorch_model.bin", "pickle");
  EXPECT_THAT(error_of([&] { Weights(folder.path()); }), HasSubstr("save_pretrained"));
}

TEST(Weights, OfAFileThatLacksOneAreRefused) {
  const TemporaryFolder folder;
  write_two(folder);
  folder.write(kIndexName, format_index({{"c", "x.safetensors"}}, {20}));
  EXPECT_THAT(error_of([&] { Weights(folder.path()); }),
              HasSubstr("x.safetensors does not hold 'c'"));
  folder.write(kIndexName, format_index({{"c", "no.safetensors"}}, {20}));
  EXPECT_THAT(error_of([&] { Weights(folder.path()); }), HasSubstr("there is no file"));
}

}  // namespace
}  // namespace sheaf::checkpoint
