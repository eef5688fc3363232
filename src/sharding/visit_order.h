#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace sheaf::sharding {

/// Learns the order in which units are needed in one direction of a pass, and foretells the next.
class VisitOrder {
 public:
  /// Notes that `unit` is needed now. Returns true if another one was foretold: then the order is
  /// learned again from here.
  bool visit(std::size_t unit);
  /// Ends a pass: what was learned is the order from now on.
  void end_pass();
  /// Returns what is needed after the current unit, as far as known.
  [[nodiscard]] std::optional<std::size_t> next() const;
  /// Returns what a pass begins with, as far as known.
  [[nodiscard]] std::optional<std::size_t> first() const;
  [[nodiscard]] bool known() const { return known_; }

 private:
  std::vector<std::size_t> order_;
  /// Units of the order that this pass has come to.
  std::size_t visited_ = 0;
  bool known_ = false;
};

}  // namespace sheaf::sharding
