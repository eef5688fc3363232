#pragma once

namespace sheaf::nn {

/// Returns a function of LibTorch's CPU library or of what it brings along (its BLAS, its OpenMP),
/// or null. Others of that name in the program are not looked at: they may have another interface.
[[nodiscard]] void* find_torch_symbol(const char* name);

}  // namespace sheaf::nn
