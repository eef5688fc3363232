#include "models/presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "models/images.h"
#include "sheaf/base/error.h"
#include "sheaf/base/nearest.h"

namespace sheaf::models {
namespace {

struct Preset {
  std::string_view name;
  Shape shape;
};

struct Gpt2Size {
  std::int64_t layers;
  std::int64_t width;
  std::int64_t heads;
};

// As published: Hugging Face's config.json of gpt2, -medium, -large and -xl differ in these alone.
constexpr Shape gpt2(const Gpt2Size& size) {
  return {.family = Family::gpt2,
          .layers = size.layers,
          .width = size.width,
          .heads = size.heads,
          .vocabulary = 50257,
          .context = 1024,
          .dropout = 0.1,
          .attention_dropout = 0.1,
          .epsilon = 1e-5,
          .tied_embeddings = true};
}

constexpr Shape small_gpt2(const Gpt2Size& size, std::int64_t vocabulary, std::int64_t context) {
  Shape shape = gpt2(size);
  shape.vocabulary = vocabulary;
  shape.context = context;
  shape.dropout = 0;
  shape.attention_dropout = 0;
  return shape;
}

constexpr Shape kSmolLm3{.family = Family::llama,
                         .layers = 36,
                         .width = 2048,
                         .heads = 16,
                         .kv_heads = 4,
                         .hidden = 11008,
                         .vocabulary = 128256,
                         .context = 65536,
                         .epsilon = 1e-6,
                         .rope_theta = 5e6,
                         .no_rope_interval = 4,
                         .tied_embeddings = true};

// Four layers, so that one goes without rotary positions.
constexpr Shape kSmolLm3Tiny{.family = Family::llama,
                             .layers = 4,
                             .width = 64,
                             .heads = 4,
                             .kv_heads = 2,
                             .hidden = 160,
                             .vocabulary = 256,
                             .context = 128,
                             .epsilon = 1e-6,
                             .rope_theta = 5e6,
                             .no_rope_interval = 4,
                             .tied_embeddings = true};

constexpr Shape kLlama7b{.family = Family::llama,
                         .layers = 32,
                         .width = 4096,
                         .heads = 32,
                         .hidden = 11008,
                         .vocabulary = 32000,
                         .context = 4096,
                         .epsilon = 1e-5,
                         .tied_embeddings = false};

constexpr Shape kLlama13b{.family = Family::llama,
                          .layers = 40,
                          .width = 5120,
                          .heads = 40,
                          .hidden = 13824,
                          .vocabulary = 32000,
                          .context = 4096,
                          .epsilon = 1e-5,
                          .tied_embeddings = false};

constexpr Shape kLlamaTiny{.family = Family::llama,
                           .layers = 4,
                           .width = 128,
                           .heads = 4,
                           .kv_heads = 2,
                           .hidden = 352,
                           .vocabulary = 256,
                           .context = 128,
                           .epsilon = 1e-5,
                           .tied_embeddings = false};

constexpr Shape kMnistCnn{
    .family = Family::cnn, .layers = 3, .hidden = 1024, .vocabulary = kImageClasses};
constexpr Shape kMnistMlp{
    .family = Family::mlp, .layers = 2, .hidden = 512, .vocabulary = kImageClasses};

constexpr std::array kPresets{
    Preset{"gpt2-124m", gpt2({12, 768, 12})},
    Preset{"gpt2-350m", gpt2({24, 1024, 16})},
    Preset{"gpt2-774m", gpt2({36, 1280, 20})},
    Preset{"gpt2-1558m", gpt2({48, 1600, 25})},
    Preset{"gpt2-tiny", small_gpt2({4, 128, 4}, /*vocabulary=*/256, /*context=*/128)},
    Preset{"gpt2-14m", small_gpt2({6, 384, 6}, /*vocabulary=*/8192, /*context=*/256)},
    Preset{"smollm3-3b", kSmolLm3},
    Preset{"smollm3-tiny", kSmolLm3Tiny},
    Preset{"llama-7b", kLlama7b},
    Preset{"llama-13b", kLlama13b},
    Preset{"llama-tiny", kLlamaTiny},
    Preset{"mnist-cnn", kMnistCnn},
    Preset{"mnist-mlp", kMnistMlp},
};

std::vector<std::string> names_of_presets() {
  std::vector<std::string> names;
  names.reserve(kPresets.size());
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

}  // namespace

const std::vector<std::string>& preset_names() {
  static const std::vector<std::string> names = names_of_presets();
  return names;
}

const Shape& preset_shape(const std::string& name) {
  const auto* const found =
      std::find_if(kPresets.begin(), kPresets.end(), [&](const auto& p) { return p.name == name; });
  if (found != kPresets.end()) return found->shape;
  const auto meant = nearest(name, preset_names());
  throw UsageError(fmt::format("preset must be {}, got '{}'{}",
                               join_or(preset_names()),
                               name,
                               meant ? "; did you mean " + *meant + "?" : ""));
}

}  // namespace sheaf::models
