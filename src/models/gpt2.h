#pragma once

#include <memory>

#include "sheaf/models/model.h"
#include "sheaf/models/options.h"

namespace sheaf::models {

/// Builds a GPT-2 whose parameters have the names and layouts of Hugging Face's GPT2LMHeadModel.
[[nodiscard]] std::shared_ptr<Model> build_gpt2(const Shape& shape);

}  // namespace sheaf::models
