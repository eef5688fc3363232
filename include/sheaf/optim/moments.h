#pragma once

#include <array>

#include "sheaf/base/options.h"

namespace sheaf::optim {

/// How an optimizer keeps its states: bf16 halves their memory and traffic. Beside fp64 parameters
/// fp32 stands for fp64.
enum class Moments { fp32, bf16 };

constexpr auto enum_names(Moments) {
  return std::array{EnumName{"fp32", Moments::fp32}, EnumName{"bf16", Moments::bf16}};
}

}  // namespace sheaf::optim
