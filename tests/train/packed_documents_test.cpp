// Training on packed documents is training on each of them alone.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sheaf/data/token_file.h"
#include "sheaf/models/model.h"
#include "sheaf/module/deferred.h"
#include "sheaf/module/forward.h"
#include "sheaf/train/evaluate.h"
#include "support/preset_name.h"
#include "support/temporary_folder.h"
#include "train/small_runs.h"

namespace sheaf::train {
namespace {

constexpr std::int64_t kContext = 32;
using Document = std::vector<std::int64_t>;

/// Documents of 1 to 90 tokens: some share a sample, some go on in the next one or two.
std::vector<Document> documents() {
  std::vector<Document> all;
  for (std::int64_t i = 0; i < 60; ++i) {
    Document document;
    for (std::int64_t j = 0; j < 1 + i * 37 % 90; ++j) document.push_back((i * 31 + j * j) % 256);
    all.push_back(document);
  }
  return all;
}

std::string write_documents(const sheaf::testing::TemporaryFolder& folder) {
  data::TokenFileWriter writer(folder.path("a.tok"), {.vocabulary = 256});
  for (const Document& document : documents()) writer.add_document(document);
  writer.finish();
  return folder.path("a.tok");
}

RunOptions run_on(const std::string& path, const std::string& preset) {
  RunOptions options = small_run();
  options.model = {.preset = preset, .layers = 2, .context = kContext};
  options.data.source = data::Source::tokens;
  options.data.path = path;
  options.data.boundaries = true;
  options.data.evaluation_part = 0;
  return options;
}

struct Loss {
  double sum = 0;
  std::int64_t count = 0;
};

/// The loss of each piece of a document that falls into one sample, as a text of its own.
Loss loss_of_pieces(models::Model& model, std::int64_t samples) {
  Loss loss;
  std::int64_t place = 0;
  for (const Document& document : documents()) {
    const at::Tensor tokens = at::tensor(document);
    for (std::int64_t begin = 0; begin < tokens.numel();) {
      const std::int64_t room = kContext - place % kContext;
      const std::int64_t inputs = std::min(room, tokens.numel() - begin);
      const std::int64_t targets = std::min(inputs, tokens.numel() - begin - 1);
      const bool is_there = place / kContext < samples;
      if (targets > 0 && is_there) {
        loss.sum += sheaf::forward(model,
                                   tokens.narrow(0, begin, targets).unsqueeze(0),
                                   tokens.narrow(0, begin + 1, targets).unsqueeze(0),
                                   models::Pass{})
                        .item<double>();
        loss.count += targets;
      }
      begin += inputs;
      place += inputs;
    }
  }
  return loss;
}

class PackedDocuments : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Presets,
                         PackedDocuments,
                         ::testing::Values("gpt2-tiny", "llama-tiny", "smollm3-tiny"),
                         sheaf::testing::preset_name);

TEST_P(PackedDocuments, HaveTheLossOfSeparateOnes) {
  const sheaf::testing::TemporaryFolder folder;
  const RunOptions options = run_on(write_documents(folder), GetParam());
  const data::Data data = open_data(options);
  const auto model = deferred([&] { return models::build(options.model); });
  materialize(*model, 3);
  comm::run_ranks(1, [&](const comm::Group& world) {
    const EvaluationRecord packed = evaluate(*model, data.training, world, {.micro_batch = 5});
    const Loss separate = loss_of_pieces(*model, data.training->size());
    EXPECT_EQ(packed.items, separate.count);
    EXPECT_NEAR(packed.loss, separate.sum / static_cast<double>(separate.count), 1e-5);
  });
}

TEST_P(PackedDocuments, TrainTheSameOnAnyNumberOfRanks) {
  const sheaf::testing::TemporaryFolder folder;
  RunOptions options = run_on(write_documents(folder), GetParam());
  options.model.attention_dropout = 0.1;
  const auto one = record_run(options, 1);
  options.batch.micro = 1;
  options.batch.global = 8;
  const auto four = record_run(options, 4);
  ASSERT_EQ(four->steps.size(), one->steps.size());
  for (std::size_t i = 0; i < one->steps.size(); ++i) {
    EXPECT_NEAR(four->steps[i].loss, one->steps[i].loss, 2e-5) << "step " << i;
    EXPECT_EQ(four->steps[i].items, one->steps[i].items);
    EXPECT_EQ(four->steps[i].sample_hash, one->steps[i].sample_hash);
  }
  EXPECT_LT(one->steps[0].items, 8 * kContext);
}

TEST(MixedSources, AreEvaluatedEachSampleOnce) {
  const sheaf::testing::TemporaryFolder folder;
  const RunOptions options = run_on(write_documents(folder), "gpt2-tiny");
  RunOptions mixed = options;
  mixed.data.paths = {options.data.path, options.data.path, options.data.path};
  mixed.data.weights = {5, 1, 0};
  mixed.data.path = "";
  const auto model = deferred([&] { return models::build(options.model); });
  materialize(*model, 3);
  const auto judge = [&](const RunOptions& judged, const comm::Group& world) {
    return evaluate(*model, open_data(judged).training, world, {.micro_batch = 5});
  };
  comm::run_ranks(1, [&](const comm::Group& world) {
    const EvaluationRecord one = judge(options, world), three = judge(mixed, world);
    EXPECT_EQ(three.items, 3 * one.items);
    EXPECT_NEAR(three.loss, one.loss, 1e-6);
  });
}

/// Begins after some steps of another run.
class StartingAt final : public Checkpointer {
 public:
  StartingAt(std::int64_t step, data::Position position) : step_(step), position_(position) {}
  bool restore(TrainingState& state) override {
    state.step = step_;
    state.position = position_;
    return true;
  }
  void step_done(const TrainingState& state, bool /*last*/) override { seen = state.position; }
  data::Position seen;

 private:
  std::int64_t step_;
  data::Position position_;
};

TEST(MixedSources, GoOnExactlyWithAnotherNumberOfRanks) {
  const sheaf::testing::TemporaryFolder folder;
  const std::string path = write_documents(folder);
  RunOptions options = run_on("", "gpt2-tiny");
  options.data.paths = {path, path};
  options.data.weights = {0.8, 0.2};
  options.train.steps = 40;
  const auto whole = record_run(options, 1);

  const std::int64_t kDone = 25;
  options.train.steps = kDone;
  const auto first = std::make_shared<StartingAt>(0, data::Position{});
  comm::run_ranks(1, [&](const comm::Group& world) {
    static_cast<void>(train::run(options, world, {.checkpointer = first}));
  });
  options.train.steps = 40;
  const auto rest = std::make_shared<Recorder>();
  comm::run_ranks(3, [&](const comm::Group& world) {
    const Hooks hooks{.sinks = {rest},
                      .checkpointer = std::make_shared<StartingAt>(kDone, first->seen)};
    static_cast<void>(train::run(options, world, hooks));
  });
  EXPECT_EQ(first->seen.epoch, 1);
  ASSERT_THAT(rest->steps, ::testing::SizeIs(15));
  for (std::size_t i = 0; i < 15; ++i) {
    EXPECT_EQ(rest->steps[i].sample_hash, whole->steps[kDone + i].sample_hash) << i;
  }
}

}  // namespace
}  // namespace sheaf::train
