#pragma once

#include <memory>

#include "gpt.h"
#include "sheaf/models/model.h"

namespace sheaf::bench {

/// Builds the library's GPT-2 with the weights of Gpt, so that it learns the same.
[[nodiscard]] std::shared_ptr<models::Model> same_as_gpt2(const GptOptions& options);

}  // namespace sheaf::bench
