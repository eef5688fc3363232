#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine.h"
#include "sheaf/optim/slot.h"

namespace sheaf::sharding {

/// An engine's masters and gradients, as sheaf's optimizers step them.
class EngineSlots final : public optim::SlotSource {
 public:
  explicit EngineSlots(std::shared_ptr<Engine> engine);

  [[nodiscard]] const std::vector<optim::Segment>& segments() const override { return segments_; }
  [[nodiscard]] at::Tensor new_state(std::size_t segment,
                                     std::string_view what,
                                     at::ScalarType type) override;
  void begin_step() override;
  [[nodiscard]] at::Tensor gradient(std::size_t segment) override;
  [[nodiscard]] bool takes_part(std::size_t segment, std::size_t slot) const override;
  void stepped(std::size_t segment) override;
  void end_step() override;
  /// Not where unused parameters are looked for: whether one is used is known at the end alone.
  [[nodiscard]] bool step_as_ready(StepSegment step) override;

 private:
  struct Place {
    std::size_t unit = 0;
    std::size_t segment = 0;
  };

  [[nodiscard]] GradientBuffer& buffer_of(const Place& place);
  void step_unit(std::size_t unit, const StepSegment& step);

  std::shared_ptr<Engine> engine_;
  std::vector<optim::Segment> segments_;
  std::vector<Place> places_;
  std::vector<memory::Charge> charges_;
};

}  // namespace sheaf::sharding
