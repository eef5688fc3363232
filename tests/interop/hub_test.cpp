// Models in and out of Hugging Face's transformers: what it saves is loaded here, what is written
// here it loads, and both compute the same.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>

#include "sheaf/base/error.h"
#include "sheaf/comm/run_ranks.h"
#include "sheaf/hub/convert.h"
#include "sheaf/hub/folder_writer.h"
#include "sheaf/hub/model_folder.h"
#include "sheaf/models/generate.h"
#include "sheaf/models/model.h"
#include "sheaf/module/deferred.h"
#include "sheaf/module/forward.h"
#include "sheaf/sharding/shard.h"
#include "sheaf/train/trainer.h"
#include "support/run_command.h"
#include "support/safetensors.h"
#include "support/temporary_folder.h"
#include "transformers_peer.h"

namespace sheaf {
namespace {

using testing::TemporaryFolder;
using testing::TensorFile;
using testing::TransformersPeer;

// fp32 on both sides, with sums in another order.
constexpr double kTolerance = 1e-4;
// The same numbers in the same program; two names of one activation are rounded differently.
constexpr double kSame = 1e-5;
const std::vector<std::string> kKinds{
    "gpt2", "gpt2_odd", "llama", "llama_odd", "llama_tied", "smollm3", "smollm3_odd"};

double worst(const at::Tensor& ours, const at::Tensor& theirs) {
  return (ours.to(at::kDouble) - theirs.to(at::kDouble)).abs().max().item<double>();
}

/// Largest difference beside the largest value.
double relative(const at::Tensor& ours, const at::Tensor& theirs) {
  return worst(ours, theirs) / theirs.abs().max().item<double>();
}

std::shared_ptr<models::Model> load(const std::string& path) {
  const hub::ModelFolder folder(path);
  auto model = models::build_shape(folder.config().shape);
  const at::NoGradGuard no_grad;
  for (const auto& item : model->named_parameters()) {
    folder.read(item.key(), 0, item.value().view(-1));
  }
  return model;
}

at::Tensor all_logits(models::Model& model, const at::Tensor& inputs) {
  const at::NoGradGuard no_grad;
  return sheaf::forward(model, inputs, at::Tensor(), models::Pass{.logits = models::Logits::all});
}

std::vector<std::int64_t> tokens_of(const at::Tensor& tensor) {
  const auto* const begin = tensor.const_data_ptr<std::int64_t>();
  return {begin, begin + tensor.numel()};
}

/// Starts from a folder, trains nothing on two ranks, and writes another.
void pass_through_training(const std::string& from, const std::string& to) {
  train::RunOptions options;
  options.model.from = from;
  options.data.source = data::Source::random;
  options.data.size = 2000;
  options.optimizer.learning_rate = 0;
  options.batch.global = 2;
  options.train.steps = 1;
  options.train.evaluate = false;
  options.train.sample_tokens = 0;
  options.train.export_to = to;
  comm::run_ranks(
      2, [&](const comm::Group& world) { static_cast<void>(train::run(options, world, {})); });
}

/// Writes a folder with a config.json of sheaf's own.
void write_anew(const std::string& from, const std::string& to) {
  const hub::ModelFolder folder(from);
  const auto parameters = hub::parameters_of(folder.config().shape);
  hub::FolderWriter writer(
      to,
      {.config = hub::format_config(folder.config().shape, at::kFloat), .parameters = parameters});
  for (const checkpoint::TensorSpec& parameter : parameters) {
    const at::Tensor values = at::empty({parameter.numel()});
    folder.read(parameter.name, 0, values);
    writer.write(parameter.name, 0, values);
  }
  writer.finish();
}

const std::vector<std::string> kWritten{"converted", "trained", "anew"};

/// All models are made, written anew and looked at once: Python's start takes longer than all else.
class HubTest : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() {
    why_not_ = TransformersPeer::why_not();
    if (!why_not_.empty()) return;
    folder_ = std::make_unique<TemporaryFolder>();
    python({"make", folder_->path()});
    for (const std::string& kind : kKinds) {
      const std::string model = folder_->path(kind + "/model");
      hub::convert({.from = model,
                    .to = folder_->path(kind + "/converted"),
                    .shard_size = Bytes{kind.ends_with("odd") ? 50'000 : 5'000'000}});
      pass_through_training(model, folder_->path(kind + "/trained"));
      write_anew(model, folder_->path(kind + "/anew"));
    }
    python({"load", folder_->path(), "converted", "trained", "anew"});
  }
  static void TearDownTestSuite() { folder_.reset(); }
  void SetUp() override {
    if (!why_not_.empty()) GTEST_SKIP() << why_not_;
  }

  static void python(const std::vector<std::string>& arguments) {
    const auto result = TransformersPeer::run_python(SHEAF_HUB_PEER, arguments);
    if (result.exit_code != 0) throw Error(describe(result));
  }

  [[nodiscard]] static std::string path(const std::string& name) {
    return folder_->path(GetParam() + "/" + name);
  }
  [[nodiscard]] static TensorFile passed(const std::string& name) {
    return testing::read_safetensors(path(name + ".passed"));
  }

  static inline std::string why_not_;
  static inline std::unique_ptr<TemporaryFolder> folder_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, HubTest, ::testing::ValuesIn(kKinds), [](const auto& tested) {
  return tested.param;
});

TEST_P(HubTest, LoadedModelHasTheSameLogitsLossAndGradients) {
  const TensorFile theirs = passed("model");
  const auto model = load(path("model"));
  EXPECT_LE(worst(all_logits(*model, theirs.at("inputs")), theirs.at("logits")), kTolerance);
  const at::Tensor loss =
      sheaf::forward(*model, theirs.at("inputs"), theirs.at("targets"), models::Pass{});
  loss.backward();
  EXPECT_LE(relative(loss.detach(), theirs.at("loss")), kTolerance);
  ASSERT_EQ(theirs.size(), 6 + model->parameters().size());
  for (const auto& item : model->named_parameters()) {
    const double gap = relative(item.value().grad(), theirs.at("gradient." + item.key()));
    EXPECT_LE(gap, kTolerance) << item.key();
    RecordProperty("gradient." + item.key(), fmt::format("{:.1e}", gap));
  }
}

TEST_P(HubTest, ShardedModelHasTheSameLogits) {
  const TensorFile theirs = passed("model");
  comm::run_ranks(3, [&](const comm::Group& world) {
    const hub::ModelFolder folder(path("model"));
    const auto model = deferred([&] { return models::build_shape(folder.config().shape); });
    const sharding::State state =
        shard(*model, {.group = world, .wrap = {.names = model->blocks()}, .starts_blank = true});
    state.load(
        [&](const sharding::Slice& slice) { folder.read(slice.name, slice.begin, slice.values); });
    const double gap = worst(all_logits(*model, theirs.at("inputs")), theirs.at("logits"));
    if (gap > kTolerance) throw Error(fmt::format("the logits differ by {}", gap));
  });
}

TEST_P(HubTest, ModelThatWasWrittenHereComputesTheSameThere) {
  const TensorFile before = passed("model");
  for (const std::string& name : kWritten) {
    const TensorFile after = passed(name);
    ASSERT_EQ(after.size(), before.size());
    for (const auto& [key, value] : before) {
      EXPECT_LE(worst(after.at(key), value), kSame) << name << " " << key;
    }
  }
}

TEST_P(HubTest, ModelThatWasWrittenHereWritesTheSameTextThere) {
  for (const std::string& name : kWritten) {
    const TensorFile theirs = passed(name);
    const auto generated =
        models::generate(*load(path(name)),
                         tokens_of(theirs.at("prompt")),
                         {.max_new_tokens = theirs.at("generated").numel(), .temperature = 0});
    EXPECT_EQ(generated, tokens_of(theirs.at("generated"))) << name;
  }
}

}  // namespace
}  // namespace sheaf
