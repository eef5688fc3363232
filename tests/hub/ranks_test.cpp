// A model's folder and many ranks: every rank reads and writes only what it keeps.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hub/sample_models.h"
#include "sheaf/comm/mesh.h"
#include "sheaf/data/tokenizer_training.h"
#include "sheaf/hub/generation_config.h"
#include "sheaf/hub/model_folder.h"
#include "sheaf/module/deferred.h"
#include "sheaf/sharding/shard.h"
#include "sheaf/train/options.h"
#include "sheaf/train/trainer.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"

namespace sheaf::testing {
namespace {

using ::testing::HasSubstr;

struct Cut {
  int ranks;
  Stage stage;
  int replicate = 1;
};

std::vector<Cut> cuts() {
  std::vector<Cut> all;
  for (int ranks = 1; ranks <= 4; ++ranks) {
    for (const Stage stage : {Stage::ddp, Stage::zero1, Stage::zero2, Stage::zero3}) {
      all.push_back({ranks, stage});
    }
  }
  all.push_back({4, Stage::zero3, 2});
  all.push_back({4, Stage::ddp, 2});
  return all;
}

std::string text(const Cut& cut) {
  return fmt::format(
      "stage {}, {} ranks, {} copies", static_cast<int>(cut.stage), cut.ranks, cut.replicate);
}

/// Reads a folder into a model that is cut over the ranks, and writes another from it.
void read_and_write(const std::string& from,
                    const std::string& to,
                    const Cut& cut,
                    std::optional<at::ScalarType> compute) {
  comm::run_ranks(cut.ranks, [&](const comm::Group& world) {
    const hub::ModelFolder folder(from);
    const auto model = deferred([&] { return models::build_shape(folder.config().shape); });
    ShardOptions options{.mesh = comm::Mesh(world, {{"replicate", cut.replicate}, {"shard", -1}}),
                         .stage = cut.stage,
                         .wrap = {.names = model->blocks()},
                         .starts_blank = true};
    options.precision.compute = compute;
    const sharding::State state = shard(*model, options);
    state.load(
        [&](const sharding::Slice& slice) { folder.read(slice.name, slice.begin, slice.values); });
    hub::FolderWriter writer(to,
                             {.config = folder.config_text(), .parameters = folder.parameters()},
                             {.shard_size = Bytes{60'000}, .group = world});
    for (const sharding::Slice& slice : state.owned_slices()) {
      writer.write(slice.name, slice.begin, slice.values);
    }
    writer.finish();
  });
}

/// A run that changes no weight: it starts from one folder and leaves another.
train::RunOptions run_options(const std::string& from, const std::string& to) {
  train::RunOptions options;
  options.model.from = from;
  options.data.source = data::Source::random;
  options.data.size = 2000;
  options.optimizer.learning_rate = 0;
  options.batch.global = 4;
  options.train.steps = 1;
  options.train.evaluate = false;
  options.train.sample_tokens = 0;
  options.train.export_to = to;
  return options;
}

void run(const train::RunOptions& options, int ranks) {
  comm::run_ranks(
      ranks, [&](const comm::Group& world) { static_cast<void>(train::run(options, world, {})); });
}

class HubOnRanks : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Kinds, HubOnRanks, ::testing::ValuesIn(kinds()), [](const auto& info) {
  return info.param;
});

TEST_P(HubOnRanks, WritesWhatItHasReadWithEveryStageAndType) {
  const TemporaryFolder folder;
  const models::Shape shape = odd_shape(GetParam());
  write_sample(folder.path("from"), shape, {.shard_size = Bytes{40'000}});
  int number = 0;
  for (const Cut& cut : cuts()) {
    for (const auto& compute : {std::optional<at::ScalarType>(), std::optional(at::kBFloat16)}) {
      const std::string to = folder.path(std::to_string(number++));
      read_and_write(folder.path("from"), to, cut, compute);
      for (const auto& [name, value] : read_sample(to)) {
        require_equal(value, odd_values(shape).at(name), text(cut) + ": " + name);
      }
    }
  }
}

TEST_P(HubOnRanks, KeepsTheConfigAndTheCompanionsOfTheFolderItStartsFrom) {
  const TemporaryFolder folder;
  write_sample(folder.path("from"), odd_shape(GetParam()), {.dtype = at::kHalf});
  auto config = nlohmann::json::parse(folder.read("from/config.json"));
  config["mine"] = 1;
  folder.write("from/config.json", config.dump());
  folder.write("from/tokenizer.json", "{}");
  run(run_options(folder.path("from"), folder.path("to")), 2);
  config["torch_dtype"] = "float32";
  EXPECT_EQ(nlohmann::json::parse(folder.read("to/config.json")), config);
  EXPECT_EQ(folder.read("to/tokenizer.json"), "{}");
}

TEST(TrainingFromAFolder, GoesOnWhereAnExportedPresetStopped) {
  const TemporaryFolder folder;
  train::RunOptions options = run_options("", folder.path("first"));
  options.model.preset = "smollm3-tiny";
  options.shard.stage = "zero2";
  options.optimizer.learning_rate = 0.1;
  run(options, 2);
  run(run_options(folder.path("first"), folder.path("second")), 3);
  const Values first = read_sample(folder.path("first"));
  for (const auto& [name, value] : read_sample(folder.path("second"))) {
    require_equal(value, first.at(name), name);
  }
}

TEST(Export, TakesTheTokenizerOfTheDataAlong) {
  const TemporaryFolder folder;
  train::RunOptions options = run_options("", folder.path("bytes"));
  options.model.preset = "smollm3-tiny";
  options.data.source = data::Source::stories;
  run(options, 2);
  const auto bytes = data::open_tokenizer(folder.path("bytes"));
  EXPECT_EQ(bytes->encode("\xffz"), (std::vector<std::int64_t>{255, 'z'}));
  data::WordCounts words(data::WordPattern::gpt2);
  words.add("a story of stories");
  options.data.tokenizer =
      folder.write("any.json", data::train_tokenizer(words, {.size = 260, .min_count = 1}));
  options.model.vocabulary = 260;
  options.train.export_to = folder.path("trained");
  run(options, 2);
  EXPECT_EQ(data::open_tokenizer(folder.path("trained"))->hash(),
            data::open_tokenizer(options.data.tokenizer)->hash());
  EXPECT_THAT(hub::read_generation_config(folder.path("trained")).eos_token_ids,
              ::testing::ElementsAre(0));
}

TEST(TrainingFromAFolder, TakesShorterTextsWherePositionsHaveNoWeights) {
  const TemporaryFolder folder;
  write_sample(folder.path("from"), odd_shape("llama"));
  train::RunOptions options = run_options(folder.path("from"), folder.path("to"));
  options.model.context = 7;
  run(options, 1);
  EXPECT_EQ(hub::ModelFolder(folder.path("to")).config().shape.context, 19);
  write_sample(folder.path("gpt2"), odd_shape("gpt2"));
  options.model.from = folder.path("gpt2");
  EXPECT_THAT(error_of([&] { train::check(options, 1); }), HasSubstr("each of their 19 positions"));
  options.model.from = folder.path("from");
  options.model.context = 20;
  EXPECT_THAT(error_of([&] { train::check(options, 1); }), HasSubstr("at most the folder's 19"));
}

TEST(TrainingFromAFolder, TakesAnotherDropout) {
  const TemporaryFolder folder;
  write_sample(folder.path("from"), odd_shape("gpt2"));
  auto config = nlohmann::json::parse(folder.read("from/config.json"));
  config["embd_pdrop"] = 0.5;
  folder.write("from/config.json", config.dump());
  train::RunOptions options = run_options(folder.path("from"), "");
  EXPECT_THAT(error_of([&] { train::check(options, 1); }), HasSubstr("set model.dropout"));
  options.model.dropout = 0.25;
  train::check(options, 1);
}

}  // namespace
}  // namespace sheaf::testing
