#include "sheaf/models/options.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "models/presets.h"
#include "models/size_limits.h"
#include "sheaf/base/error.h"

namespace sheaf::models {
namespace {

/// A size that options may change, and the families that have it.
struct Size {
  std::string_view name;
  std::int64_t ModelOptions::*wanted;
  std::int64_t Shape::*size;
  std::array<bool, 4> in_family;  // in the order of Family
  std::int64_t largest = kLargestSize;
};

constexpr std::array kSizes{
    Size{"layers", &ModelOptions::layers, &Shape::layers, {true, true, false, true}, kMostLayers},
    Size{"width", &ModelOptions::width, &Shape::width, {true, true, false, false}},
    Size{"heads", &ModelOptions::heads, &Shape::heads, {true, true, false, false}},
    Size{"kv_heads", &ModelOptions::kv_heads, &Shape::kv_heads, {false, true, false, false}},
    Size{"hidden", &ModelOptions::hidden, &Shape::hidden, {true, true, true, true}},
    Size{"vocabulary", &ModelOptions::vocabulary, &Shape::vocabulary, {true, true, false, false}},
    Size{"context", &ModelOptions::context, &Shape::context, {true, true, false, false}},
};

void set_size(const Size& size, const ModelOptions& options, Shape& shape) {
  const std::int64_t wanted = options.*size.wanted;
  if (wanted == 0) return;
  if (wanted < 0 || wanted > size.largest) {
    throw UsageError(
        fmt::format("{} of a model must be between 1 and {}, or 0 for the preset's, got {}",
                    size.name,
                    size.largest,
                    wanted));
  }
  if (!size.in_family.at(static_cast<std::size_t>(shape.family))) {
    throw UsageError(fmt::format(
        "a {} model has no {} to set: leave it 0, got {}", options.preset, size.name, wanted));
  }
  shape.*size.size = wanted;
}

/// A probability that options may change.
struct Dropout {
  std::string_view name;
  double wanted;
  bool in_family;
};

void set_dropout(const Dropout& dropout, const std::string& model, double& probability) {
  if (dropout.wanted == -1) return;
  if (!(dropout.wanted >= 0 && dropout.wanted < 1)) {
    throw UsageError(
        fmt::format("{} of a model must be at least 0 and below 1, or -1 for the preset's, got {}",
                    dropout.name,
                    dropout.wanted));
  }
  if (!dropout.in_family && dropout.wanted > 0) {
    throw UsageError(fmt::format(
        "a {} model has no {}: leave it -1 or 0, got {}", model, dropout.name, dropout.wanted));
  }
  probability = dropout.wanted;
}

// Sizes that follow from others, where neither the preset nor the options say them.
void derive(Shape& shape) {
  if (shape.family == Family::gpt2) {
    if (shape.hidden == 0) shape.hidden = 4 * shape.width;
    shape.kv_heads = shape.heads;
  }
  if (shape.kv_heads == 0) shape.kv_heads = shape.heads;
}

void check_heads(Shape& shape) {
  if (shape.width % shape.heads != 0) {
    throw UsageError(
        fmt::format("heads must divide the width {}, got {}", shape.width, shape.heads));
  }
  if (shape.heads % shape.kv_heads != 0) {
    throw UsageError(
        fmt::format("kv_heads must divide the {} heads, got {}", shape.heads, shape.kv_heads));
  }
  shape.head_size = shape.width / shape.heads;
  if (shape.family == Family::llama && shape.head_size % 2 != 0) {
    throw UsageError(
        fmt::format("rotary positions turn pairs, so width / heads must be even, got {} / {}",
                    shape.width,
                    shape.heads));
  }
}

}  // namespace

void set_dropouts(const ModelOptions& options, const std::string& model, Shape& shape) {
  set_dropout({"dropout", options.dropout, shape.family == Family::gpt2}, model, shape.dropout);
  set_dropout({"attention_dropout", options.attention_dropout, shape.is_language_model()},
              model,
              shape.attention_dropout);
}

Shape resolve(const ModelOptions& options) {
  Shape shape = preset_shape(options.preset);
  for (const Size& size : kSizes) set_size(size, options, shape);
  set_dropouts(options, options.preset, shape);
  shape.fused = options.fused;
  if (options.attention != nn::AttentionKernel::automatic && !shape.is_language_model()) {
    throw UsageError(fmt::format("a {} model has no attention to set: leave it automatic, got {}",
                                 options.preset,
                                 enum_name(options.attention)));
  }
  if (!shape.is_language_model()) return shape;
  derive(shape);
  check_heads(shape);
  return shape;
}

}  // namespace sheaf::models
