#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

#include "sheaf/models/options.h"

namespace sheaf::hub {

/// What a Hugging Face config.json says of a model.
struct Config {
  models::Shape shape;
  /// GPT-2's config.json has a dropout of embeddings of its own; shape.dropout is that of
  /// residuals. The same in all other models.
  double embedding_dropout = 0;
};

/// Reads the text of the config.json of a GPT-2, Llama or SmolLM3. Throws UsageError that names the
/// field for what is missing, wrong, or not to be had here.
[[nodiscard]] Config parse_config(std::string_view text);

/// Returns the text of a config.json that transformers reads, for weights of type `dtype`. The
/// shape must be that of a language model.
[[nodiscard]] std::string format_config(const models::Shape& shape, at::ScalarType dtype);

/// Returns `text` with another type of weights; all else stays as it is.
[[nodiscard]] std::string with_dtype(std::string_view text, at::ScalarType dtype);

}  // namespace sheaf::hub
