#include "sheaf/checkpoint/compare.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <utility>

namespace sheaf::checkpoint {
namespace {

// Compared at a time.
constexpr std::int64_t kElements = 1 << 20;
// Doubles have every integer up to this one.
constexpr double kLargestExact = 9007199254740992.0;

using Pair = std::pair<const SavedTensor*, const SavedTensor*>;

std::map<std::string, Pair> paired(const Reader& first, const Reader& second) {
  std::map<std::string, Pair> pairs;
  for (const SavedTensor& each : first.manifest().tensors) pairs[each.tensor.name].first = &each;
  for (const SavedTensor& each : second.manifest().tensors) pairs[each.tensor.name].second = &each;
  return pairs;
}

/// Returns how far apart values are. Integers may be too large for a double to tell them apart, and
/// their difference for an integer.
at::Tensor distance(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor rounded = (a.to(at::kDouble) - b.to(at::kDouble)).abs();
  if (a.is_floating_point()) return rounded.nan_to_num();
  return at::where(rounded.gt(kLargestExact), rounded, (a - b).abs().to(at::kDouble));
}

void compare_values(const Reader& first,
                    const Reader& second,
                    at::ScalarType dtype,
                    Difference& found) {
  const auto exact = c10::isIntegralType(dtype, /*includeBool=*/true) ? at::kLong : at::kDouble;
  for (std::int64_t begin = 0; begin < found.of; begin += kElements) {
    const std::int64_t count = std::min(kElements, found.of - begin);
    const at::Tensor a = at::empty({count}, exact);
    const at::Tensor b = at::empty({count}, exact);
    first.read(found.name, begin, a);
    second.read(found.name, begin, b);
    // A NaN is another value than anything but a NaN.
    const at::Tensor differs = a.ne(b).logical_and(a.isnan().logical_and(b.isnan()).logical_not());
    found.count += differs.sum().item<std::int64_t>();
    found.largest = std::max(found.largest, distance(a, b).max().item<double>());
  }
}

}  // namespace

std::vector<Difference> compare(const Reader& first, const Reader& second) {
  std::vector<Difference> differences;
  for (const auto& [name, pair] : paired(first, second)) {
    const auto& [a, b] = pair;
    if (a == nullptr || b == nullptr) {
      differences.push_back({name, a == nullptr ? "only in the second" : "only in the first"});
    } else if (a->tensor.shape != b->tensor.shape) {
      differences.push_back({name, "shape"});
    } else if (a->tensor.dtype != b->tensor.dtype) {
      differences.push_back({name, "type"});
    } else if (a->pieces != b->pieces) {
      Difference found{.name = name, .kind = "values", .of = a->tensor.numel()};
      compare_values(first, second, a->tensor.dtype, found);
      // The same values may have been written in other pieces.
      if (found.count > 0) differences.push_back(found);
    }
  }
  return differences;
}

}  // namespace sheaf::checkpoint
