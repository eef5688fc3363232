#pragma once

#include <array>
#include <string_view>

namespace sheaf::bench {

/// What a kernel of a training step is for.
enum class KernelClass {
  gemm,
  attention,
  norm,
  elementwise,
  loss,
  optimizer,
  exchange,
  copy,
  other
};

inline constexpr std::array kKernelClasses{KernelClass::gemm,
                                           KernelClass::attention,
                                           KernelClass::norm,
                                           KernelClass::elementwise,
                                           KernelClass::loss,
                                           KernelClass::optimizer,
                                           KernelClass::exchange,
                                           KernelClass::copy,
                                           KernelClass::other};

/// Returns what a kernel is for by the words in its name, large or small letters alike.
[[nodiscard]] KernelClass class_of_kernel(std::string_view name);

[[nodiscard]] std::string_view name_of(KernelClass kind);

}  // namespace sheaf::bench
