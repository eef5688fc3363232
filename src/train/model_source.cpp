#include "model_source.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "sheaf/base/error.h"
#include "sheaf/hub/model_folder.h"

namespace sheaf::train {
namespace {

/// A folder's weights have the sizes they have.
void refuse_sizes(const models::ModelOptions& options) {
  if (options.preset != models::ModelOptions{}.preset) {
    throw UsageError(
        fmt::format("a folder has its own shape: leave model.preset out, got {}", options.preset));
  }
  const std::array sizes{std::pair{"layers", options.layers},
                         std::pair{"width", options.width},
                         std::pair{"heads", options.heads},
                         std::pair{"kv_heads", options.kv_heads},
                         std::pair{"hidden", options.hidden},
                         std::pair{"vocabulary", options.vocabulary}};
  for (const auto& [name, size] : sizes) {
    if (size == 0) continue;
    throw UsageError(
        fmt::format("a folder has its own shape: leave model.{} out, got {}", name, size));
  }
}

/// Rotary positions need no weights, so texts may be shorter than what a folder was made for.
void set_context(const models::ModelOptions& options, models::Shape& shape) {
  if (options.context == 0 || options.context == shape.context) return;
  if (shape.family == models::Family::gpt2) {
    throw UsageError(
        fmt::format("GPT-2's weights have a row for each of their {} positions: leave "
                    "model.context out, got {}",
                    shape.context,
                    options.context));
  }
  if (options.context > shape.context) {
    throw UsageError(fmt::format(
        "model.context may be at most the folder's {}, got {}", shape.context, options.context));
  }
  shape.context = options.context;
}

models::Shape shape_of_folder(const models::ModelOptions& options) {
  refuse_sizes(options);
  const hub::ModelFolder folder(options.from);
  models::Shape shape = folder.config().shape;
  if (options.dropout < 0 && folder.config().embedding_dropout != shape.dropout) {
    throw UsageError(
        fmt::format("its embd_pdrop = {} and resid_pdrop = {} differ, and sheaf has one dropout "
                    "for both: set model.dropout",
                    folder.config().embedding_dropout,
                    shape.dropout));
  }
  set_context(options, shape);
  models::set_dropouts(options, options.from, shape);
  shape.fused = options.fused;
  return shape;
}

}  // namespace

models::Shape shape_of(const RunOptions& options) {
  if (options.model.from.empty()) return models::resolve(options.model);
  try {
    return shape_of_folder(options.model);
  } catch (const Error& error) {
    std::rethrow_exception(error.with_prefix("model.from: "));
  }
}

std::string name_of_model(const models::ModelOptions& options) {
  return options.from.empty() ? options.preset : options.from;
}

}  // namespace sheaf::train
