#pragma once

#include <span>
#include <string>
#include <string_view>

#include "data/bpe/definition.h"

namespace sheaf::data::bpe {

/// Returns whether the steps would leave the text as it is; never wrong where it says so.
[[nodiscard]] bool is_normal(std::span<const NormalStep> steps, std::string_view text);

/// Returns the text after all steps. Bytes that are no UTF-8 stay as they are.
[[nodiscard]] std::string normalized(std::span<const NormalStep> steps, std::string_view text);

}  // namespace sheaf::data::bpe
