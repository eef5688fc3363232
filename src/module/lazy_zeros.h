#pragma once

#include <c10/core/Allocator.h>

#include <cstddef>

namespace sheaf::module {

/// Returns zeroed CPU memory of which a page takes memory once it is written to; less than
/// kLazyBytes are ordinary memory. Throws sheaf::Error if the system refuses.
[[nodiscard]] c10::DataPtr lazy_zeros(std::size_t num_bytes);

inline constexpr std::size_t kLazyBytes = std::size_t{256} << 10;

}  // namespace sheaf::module
