#pragma once

#include <array>
#include <bit>
#include <vector>

#include "kernels/elements.h"
#include "sheaf/optim/optimizer.h"

namespace sheaf::optim {

/// Returns what a tensor holds; none for types that are not stepped.
[[nodiscard]] Type type_of(const at::Tensor& tensor);

/// Returns the memory of a run.
[[nodiscard]] Elements elements_of(const Run& run);

/// Returns where a recorded run finds its numbers; null if it is not recorded.
[[nodiscard]] const double* recorded_numbers_of(const Run& run);

/// Returns factors as a list, in the order in which kernels find them.
template <class Factors>
[[nodiscard]] std::vector<double> listed(const Factors& factors) {
  using List = std::array<double, sizeof(Factors) / sizeof(double)>;
  const auto list = std::bit_cast<List>(factors);
  return {list.begin(), list.end()};
}

}  // namespace sheaf::optim
