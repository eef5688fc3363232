#pragma once

#include <ATen/ATen.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sheaf/optim/slot.h"

namespace sheaf::testing {

/// One flat segment with several slots, as a sharding engine makes them; the test sets gradient,
/// copy and who sits out. `calls` is what the optimizer did.
class FlatSlots final : public optim::SlotSource {
 public:
  FlatSlots(at::Tensor master, std::vector<optim::Slot> slots)
      : segments_{{.master = std::move(master), .slots = std::move(slots)}} {}

  [[nodiscard]] optim::Segment& segment() { return segments_[0]; }
  [[nodiscard]] const std::vector<optim::Segment>& segments() const override { return segments_; }
  [[nodiscard]] at::Tensor new_state(std::size_t segment,
                                     std::string_view what,
                                     at::ScalarType type) override {
    calls.push_back("new_state " + std::string(what));
    return at::zeros_like(segments_[segment].master, type);
  }
  void begin_step() override { calls.emplace_back("begin_step"); }
  [[nodiscard]] at::Tensor gradient(std::size_t /*segment*/) override {
    calls.emplace_back("gradient");
    return current_gradient;
  }
  [[nodiscard]] bool takes_part(std::size_t /*segment*/, std::size_t slot) const override {
    return !sitting_out.contains(slot);
  }
  void stepped(std::size_t /*segment*/) override { calls.emplace_back("stepped"); }
  void end_step() override { calls.emplace_back("end_step"); }

  at::Tensor current_gradient;
  std::set<std::size_t> sitting_out;
  std::vector<std::string> calls;

 private:
  std::vector<optim::Segment> segments_;
};

}  // namespace sheaf::testing
