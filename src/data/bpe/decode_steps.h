#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/bpe/definition.h"

namespace sheaf::data::bpe {

/// Returns the byte that a token such as <0x0A> stands for.
[[nodiscard]] std::optional<char> byte_named(std::string_view text);

/// Returns the text of tokens after all steps.
[[nodiscard]] std::string joined(std::span<const DecodeStep> steps, std::vector<std::string> texts);

}  // namespace sheaf::data::bpe
