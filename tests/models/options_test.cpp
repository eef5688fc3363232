#include "sheaf/models/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "sheaf/base/error.h"
#include "support/on_ranks.h"

namespace sheaf::models {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(Presets, AllResolve) {
  EXPECT_THAT(preset_names(), Contains("gpt2-124m"));
  for (const std::string& name : preset_names()) EXPECT_GT(resolve({.preset = name}).layers, 0);
}

TEST(Presets, SmolLm3IsTheOneOfHuggingFace) {
  const Shape shape = resolve({.preset = "smollm3-3b"});
  EXPECT_EQ(shape.layers, 36);
  EXPECT_EQ(shape.head_size, 128);
  EXPECT_EQ(shape.kv_heads, 4);
  EXPECT_EQ(shape.rope_theta, 5e6);
  EXPECT_EQ(shape.no_rope_interval, 4);
  EXPECT_EQ(shape.context, 65536);
  EXPECT_TRUE(shape.tied_embeddings);
}

TEST(Presets, Gpt2DropsAsTheOriginal) {
  const Shape shape = resolve({.preset = "gpt2-124m"});
  EXPECT_EQ(shape.dropout, 0.1);
  EXPECT_EQ(shape.attention_dropout, 0.1);
  EXPECT_EQ(shape.epsilon, 1e-5);
}

TEST(Resolve, TakesThePresetsValueWhereNothingIsSaid) {
  const Shape shape = resolve({.preset = "gpt2-tiny", .layers = 2, .context = 16});
  EXPECT_EQ(shape.layers, 2);
  EXPECT_EQ(shape.context, 16);
  EXPECT_EQ(shape.width, 128);
  EXPECT_EQ(shape.vocabulary, 256);
}

TEST(Resolve, WidensTheFeedForwardPartOfGpt2WithTheWidth) {
  EXPECT_EQ(resolve({.preset = "gpt2-tiny", .width = 64}).hidden, 256);
  EXPECT_EQ(resolve({.preset = "gpt2-tiny", .width = 64, .hidden = 100}).hidden, 100);
}

TEST(Resolve, HasAsManyKeysAsHeadsUnlessTheyAreGrouped) {
  EXPECT_EQ(resolve({.preset = "llama-7b", .heads = 16}).kv_heads, 16);
  EXPECT_EQ(resolve({.preset = "llama-7b", .kv_heads = 8}).kv_heads, 8);
  EXPECT_EQ(resolve({.preset = "gpt2-tiny"}).kv_heads, 4);
}

TEST(Resolve, LetsDropoutBeSwitchedOffAnywhere) {
  EXPECT_EQ(resolve({.preset = "gpt2-124m", .dropout = 0}).dropout, 0);
  EXPECT_EQ(resolve({.preset = "llama-tiny", .dropout = 0, .attention_dropout = 0}).dropout, 0);
  EXPECT_EQ(resolve({.preset = "mnist-cnn", .dropout = 0, .attention_dropout = 0}).dropout, 0);
}

TEST(Resolve, RefusesByNameWhatCannotBe) {
  const std::vector<std::pair<ModelOptions, std::string>> table{
      {{.preset = "gpt2-124"}, "did you mean gpt2-124m?"},
      {{.preset = ""}, "got ''"},
      {{.preset = "gpt2-tiny", .layers = -1}, "layers of a model must be between 1 and 4096"},
      {{.preset = "gpt2-tiny", .layers = 5000}, "got 5000"},
      {{.preset = "gpt2-tiny", .width = 130}, "heads must divide the width 130, got 4"},
      {{.preset = "gpt2-tiny", .heads = 5}, "heads must divide the width 128, got 5"},
      {{.preset = "gpt2-tiny", .kv_heads = 2}, "a gpt2-tiny model has no kv_heads to set"},
      {{.preset = "gpt2-tiny", .vocabulary = -3}, "vocabulary of a model must be between 1"},
      {{.preset = "gpt2-tiny", .vocabulary = std::int64_t{1} << 40}, "got 1099511627776"},
      {{.preset = "gpt2-tiny", .context = -1}, "context of a model"},
      {{.preset = "gpt2-tiny", .dropout = 1}, "dropout of a model must be at least 0 and below 1"},
      {{.preset = "gpt2-tiny", .dropout = -0.5}, "or -1 for the preset's, got -0.5"},
      {{.preset = "gpt2-tiny", .attention_dropout = 2}, "attention_dropout of a model"},
      {{.preset = "llama-tiny", .dropout = 0.1}, "a llama-tiny model has no dropout"},
      {{.preset = "llama-tiny", .kv_heads = 3}, "kv_heads must divide the 4 heads, got 3"},
      {{.preset = "llama-tiny", .width = 132}, "must be even, got 132 / 4"},
      {{.preset = "mnist-cnn", .layers = 2}, "a mnist-cnn model has no layers to set"},
      {{.preset = "mnist-cnn", .width = 2}, "no width"},
      {{.preset = "mnist-mlp", .heads = 2}, "no heads"},
      {{.preset = "mnist-mlp", .vocabulary = 20}, "no vocabulary"},
      {{.preset = "mnist-mlp", .context = 20}, "no context"},
      {{.preset = "mnist-mlp", .attention_dropout = 0.1}, "no attention_dropout"},
      {{.preset = "mnist-mlp", .attention = nn::AttentionKernel::flash}, "got flash"},
  };
  for (const auto& [options, message] : table) {
    EXPECT_THAT(testing::error_of([&options = options] { static_cast<void>(resolve(options)); }),
                HasSubstr(message));
  }
}

TEST(Resolve, RefusesDropoutThatIsNoNumber) {
  EXPECT_THROW(static_cast<void>(resolve({.preset = "gpt2-tiny", .dropout = NAN})), UsageError);
}

}  // namespace
}  // namespace sheaf::models
