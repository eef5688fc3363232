#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "sheaf/base/units.h"

namespace sheaf::memory {

/// What bytes are held for. Activations are what forward leaves for backward; temporary is all that
/// nobody else claims: what operators make on their way, batches, and what libraries keep.
enum class Purpose {
  parameters,
  gradients,
  optimizer,
  gathered,
  communication,
  activations,
  temporary
};
inline constexpr std::size_t kNumPurposes = 7;

[[nodiscard]] constexpr std::string_view name(Purpose purpose) {
  constexpr std::array<std::string_view, kNumPurposes> kNames{"parameters",
                                                              "gradients",
                                                              "optimizer",
                                                              "gathered",
                                                              "communication",
                                                              "activations",
                                                              "temporary"};
  return kNames.at(static_cast<std::size_t>(purpose));
}

/// Bytes for each purpose.
class ByPurpose {
 public:
  [[nodiscard]] Bytes& operator[](Purpose purpose) {
    return bytes_[static_cast<std::size_t>(purpose)];
  }
  [[nodiscard]] Bytes operator[](Purpose purpose) const {
    return bytes_[static_cast<std::size_t>(purpose)];
  }
  [[nodiscard]] Bytes total() const {
    Bytes sum;
    for (const Bytes each : bytes_) sum.count += each.count;
    return sum;
  }
  bool operator==(const ByPurpose&) const = default;

 private:
  std::array<Bytes, kNumPurposes> bytes_{};
};

/// All purposes, in their order.
[[nodiscard]] constexpr std::array<Purpose, kNumPurposes> all_purposes() {
  std::array<Purpose, kNumPurposes> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Purpose>(i);
  return all;
}

}  // namespace sheaf::memory
