#pragma once

#include <optional>

#include "choice.h"
#include "library.h"
#include "shape.h"

namespace sheaf::nn::lt {

/// Returns the bytes that an algorithm for the shape may need beside the matrices: what LibTorch
/// has for it anyway, or twice what the matrices take, up to 256 MiB; not more than LibTorch's
/// where the environment says how much that is.
[[nodiscard]] std::size_t workspace_limit(const Shape& shape);

/// Returns memory of the current device; undefined where it cannot be had.
[[nodiscard]] at::Tensor room_for(std::size_t size);

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
