#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gradient_buffer.h"
#include "segment.h"
#include "unit_plan.h"

namespace sheaf::sharding {

/// Whether the parameters of a unit have their values.
enum class Presence { freed, arriving, present };

/// Parameters that are gathered, freed, reduced and stepped together.
class Unit {
 public:
  Unit(const Context& context, const UnitPlan& plan, const Inventory& inventory);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::vector<Segment>& segments() { return segments_; }
  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
  /// One per segment; none for frozen ones.
  [[nodiscard]] std::vector<std::optional<GradientBuffer>>& gradients() { return gradients_; }
  [[nodiscard]] std::optional<std::size_t> module() const { return module_; }
  [[nodiscard]] bool is_root() const { return module_ == 0; }
  [[nodiscard]] bool reshards() const { return reshards_; }
  [[nodiscard]] Presence presence() const { return presence_; }

  /// zero3: from freed to arriving.
  void start_gather(const Context& context);
  /// From arriving to present; blocks.
  void finish_gather(const Context& context);
  /// From present or arriving to freed.
  void free(const Context& context);
  /// From any to present, with zeros for values; see Segment::give_zeros().
  void give_zeros();

 private:
  std::string name_;
  std::optional<std::size_t> module_;
  bool reshards_ = true;
  std::vector<Segment> segments_;
  std::vector<std::optional<GradientBuffer>> gradients_;
  Presence presence_ = Presence::present;
  std::vector<Pending> arriving_;
};

}  // namespace sheaf::sharding
