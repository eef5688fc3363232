#pragma once

#include <optional>

#include "choice.h"
#include "library.h"
#include "shape.h"

namespace sheaf::nn::lt {

/// Returns the fastest of the algorithms that the library proposes, measured with the given
/// memory, whose result is overwritten; nothing if it proposes none.
[[nodiscard]] std::optional<Choice> fastest(const Library& library,
                                            const Shape& shape,
                                            const Memory& memory);

/// Returns the library's own first guess.
[[nodiscard]] std::optional<Choice> first_guess(const Library& library,
                                                const Shape& shape,
                                                const Memory& memory);

}  // namespace sheaf::nn::lt
