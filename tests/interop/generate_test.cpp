// Generation beside Hugging Face's transformers: the same choices from the same logits, and the
// same texts from the same models.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "models/sampling.h"
#include "sheaf/base/error.h"
#include "sheaf/hub/load_model.h"
#include "sheaf/models/generate.h"
#include "support/run_command.h"
#include "support/safetensors.h"
#include "support/temporary_folder.h"
#include "transformers_peer.h"

namespace sheaf::models {
namespace {

using testing::TemporaryFolder;
using testing::TensorFile;
using testing::TransformersPeer;

using Tokens = std::vector<std::int64_t>;

const std::vector<std::string> kKinds{
    "gpt2", "gpt2_odd", "llama", "llama_odd", "llama_tied", "smollm3", "smollm3_odd"};
constexpr double kPenalty = 1.3;

void python(const std::vector<std::string>& arguments) {
  const auto result = TransformersPeer::run_python(SHEAF_GENERATE_PEER, arguments);
  if (result.exit_code != 0) throw Error(describe(result));
}

std::vector<GenerateOptions> settings() {
  std::vector<GenerateOptions> all;
  for (const double temperature : {1.0, 0.3, 1.7}) {
    for (const std::int64_t top_k : {0, 1, 7, 50, 1000}) {
      for (const double top_p : {1.0, 0.9, 0.5, 0.01}) {
        for (const double penalty : {1.0, 1.4, 0.8}) {
          all.push_back({.temperature = temperature,
                         .top_k = top_k,
                         .top_p = top_p,
                         .repetition_penalty = penalty});
        }
      }
    }
  }
  return all;
}

// In fp64 on both sides, so that no rounding decides what a sum just reaches.
TEST(GenerateInterop, NarrowsLogitsDownAsTransformersDoes) {
  if (const auto why = TransformersPeer::why_not(); !why.empty()) GTEST_SKIP() << why;
  const TemporaryFolder folder;
  const auto cases = settings();
  const std::int64_t count = std::ssize(cases), vocabulary = 300;
  at::manual_seed(3);
  const at::Tensor logits = at::randn({count, vocabulary}, at::kDouble) * 4;
  const at::Tensor texts = at::randint(vocabulary, {count, 40}, at::kLong);
  at::Tensor numbers = at::empty({count, 4}, at::kDouble);
  for (std::int64_t i = 0; i < count; ++i) {
    const GenerateOptions& each = cases.at(static_cast<std::size_t>(i));
    numbers[i].copy_(at::tensor(
        {each.repetition_penalty, each.temperature, static_cast<double>(each.top_k), each.top_p},
        at::kDouble));
  }
  testing::write_safetensors(folder.path("in"),
                             {{"logits", logits}, {"texts", texts}, {"settings", numbers}});
  python({"filters", folder.path("in"), folder.path("out")});
  const at::Tensor expected = testing::read_safetensors(folder.path("out")).at("logits");
  for (std::int64_t i = 0; i < count; ++i) {
    const GenerateOptions& each = cases.at(static_cast<std::size_t>(i));
    std::span<double> row(logits[i].mutable_data_ptr<double>(), 300);
    penalize(row, {texts[i].const_data_ptr<std::int64_t>(), 40}, each.repetition_penalty);
    narrow_down(row, each);
    EXPECT_TRUE(logits[i].allclose(expected[i], 1e-12, 1e-12)) << "case " << i;
  }
}

Tokens tokens_of(const at::Tensor& tensor) {
  const auto* const begin = tensor.const_data_ptr<std::int64_t>();
  return {begin, begin + tensor.numel()};
}

// transformers continues each prompt alone, here they go together.
TEST(GenerateInterop, ContinuesPromptsTogetherAsTransformersDoesAlone) {
  if (const auto why = TransformersPeer::why_not(); !why.empty()) GTEST_SKIP() << why;
  const TemporaryFolder folder;
  python({"texts", folder.path()});
  for (const std::string& kind : kKinds) {
    const TensorFile theirs = testing::read_safetensors(folder.path(kind + "/texts"));
    const auto model = hub::load_model(hub::ModelFolder(folder.path(kind + "/model")),
                                       {.dtype = hub::WeightType::fp32});
    std::vector<Tokens> prompts;
    for (int i = 0; theirs.contains("prompt." + std::to_string(i)); ++i) {
      prompts.push_back(tokens_of(theirs.at("prompt." + std::to_string(i))));
    }
    ASSERT_EQ(prompts.size(), 4U);
    for (const auto& [name, penalty] : {std::pair{"plain.", 1.0}, {"penalised.", kPenalty}}) {
      const auto ours = generate_all(
          *model, prompts, {.max_new_tokens = 10, .temperature = 0, .repetition_penalty = penalty});
      for (std::size_t i = 0; i < prompts.size(); ++i) {
        EXPECT_EQ(ours[i].tokens, tokens_of(theirs.at(name + std::to_string(i))))
            << kind << " " << name << i;
      }
    }
  }
}

}  // namespace
}  // namespace sheaf::models
