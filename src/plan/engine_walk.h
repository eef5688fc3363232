#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "plan/walk.h"
#include "sheaf/plan/setting.h"
#include "sheaf/plan/units.h"

namespace sheaf::plan {

/// What the sharding engine holds while a step goes on: states, gathered units, gradients on their
/// way. It follows src/sharding: Segment, Gatherer, GradientBuffer and Reducer.
class EngineWalk {
 public:
  EngineWalk(Walk& walk, const std::vector<Parameter>& parameters, const Setting& setting);

  /// The model's own boundary, and those of its blocks.
  void enter_model();
  void enter_forward(int block);
  void leave_forward(int block);
  void enter_backward(int block);

  /// A parameter's gradient is there before backward. Returns false if its place is taken, or keeps
  /// another type.
  [[nodiscard]] bool lend(std::size_t parameter, bool exchanged);
  /// A parameter's gradient comes. `exchanged` says that the pass ends with an exchange.
  void gradient(std::size_t parameter, bool exchanged);
  void end_pass(bool exchanged);
  void end_step();

  /// Tells whether layers of this type can write gradients where they belong.
  [[nodiscard]] bool takes_gradients_directly(bool exchanged) const;

 private:
  struct State {
    Held gathered;
    /// The lasting buffer, and a sum that has a buffer of its own.
    Held lasting;
    Held local;
    bool is_open = false;
    bool has_result = false;
    std::size_t waiting = 0;
  };
  using Flight = std::vector<Held>;

  [[nodiscard]] bool in_lasting(const State& state, bool exchanged) const;
  void take_lasting(std::size_t unit);
  void open(std::size_t unit, bool exchanged);
  void gather(std::size_t unit);
  void launch(std::size_t unit);
  void keep_as_sent(std::size_t unit);
  [[nodiscard]] std::int64_t wire() const { return bytes_of(setting_.reduce); }

  Walk& walk_;
  Setting setting_;
  std::vector<Unit> units_;
  std::vector<std::size_t> unit_of_;
  std::vector<State> states_;
  std::vector<Held> resting_;
  std::deque<Flight> flights_;
};

/// Returns the bytes that a unit's parameters take between steps.
[[nodiscard]] std::int64_t resting_parameters(const Unit& unit, const Setting& setting);
[[nodiscard]] std::int64_t resting_gradients(const Unit& unit, const Setting& setting);
[[nodiscard]] std::int64_t resting_optimizer(const Unit& unit, const Setting& setting);

}  // namespace sheaf::plan
