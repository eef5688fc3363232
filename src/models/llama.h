#pragma once

#include <memory>

#include "sheaf/models/model.h"
#include "sheaf/models/options.h"

namespace sheaf::models {

/// Builds a model of the Llama family whose parameters have the names and layouts of Hugging Face's
/// LlamaForCausalLM and SmolLM3ForCausalLM.
[[nodiscard]] std::shared_ptr<Model> build_llama(const Shape& shape);

}  // namespace sheaf::models
