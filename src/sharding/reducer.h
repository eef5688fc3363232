#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "context.h"
#include "gatherer.h"
#include "side_stream.h"
#include "unit.h"

namespace sheaf::sharding {

/// Where a parameter's gradient goes.
struct GradientPlace {
  std::size_t unit = 0;
  std::size_t segment = 0;
  std::size_t member = 0;
};

/// Collects gradients as a backward pass makes them, and exchanges each unit as soon as it is
/// complete, in the same order of units on every rank: that in which rank 0 completed them in the
/// first pass.
class Reducer {
 public:
  Reducer(const Context& context, const Inventory& inventory, Units& units);

  [[nodiscard]] const GradientPlace& place(std::size_t parameter) const {
    return places_[parameter];
  }
  /// Between these two passes end without an exchange; they may be nested.
  void begin_local() { ++local_scopes_; }
  void end_local() { --local_scopes_; }
  [[nodiscard]] bool exchanging() const { return local_scopes_ == 0; }

  /// Told of a unit whose gradients are exchanged; `finish` makes them available to what the caller
  /// computes next, in its current stream.
  using OnReduced = std::function<void(std::size_t unit, const std::function<void()>& finish)>;
  /// Has `on_reduced` called in the next pass that ends with an exchange, for each unit as soon as
  /// its exchange is over, or under way in memory that stays.
  void set_on_reduced(OnReduced on_reduced) { on_reduced_ = std::move(on_reduced); }

  /// Makes the gradients' memory free for a pass.
  void begin_pass();
  /// Adds to a parameter's gradient of this pass.
  void add(std::size_t parameter, const at::Tensor& gradient);
  /// Returns where a layer can do that itself; see module::GradientSink.
  [[nodiscard]] module::GradientTarget open(std::size_t parameter, at::ScalarType type);
  [[nodiscard]] module::EarlyGradientPtr lend(std::size_t parameter, at::ScalarType type);
  [[nodiscard]] bool settle(std::size_t parameter, const module::EarlyGradient& gradient);
  /// Says that a parameter's gradient of this pass, if it has one, is complete.
  void complete(std::size_t parameter);
  /// Ends a pass: exchanges what is left and waits for everything. Throws Error that names the
  /// parameters without a gradient, unless these are allowed.
  void end_pass();
  /// Forgets everything about a pass that failed, but for exchanges under way.
  void abandon_pass();
  /// Tells whether any rank had a gradient for a parameter in the exchanges since it was forgotten.
  [[nodiscard]] bool used(std::size_t parameter) const { return used_[parameter]; }
  void forget_used(std::size_t parameter) { used_[parameter] = false; }

 private:
  struct Flight {
    std::size_t unit = 0;
    std::vector<std::pair<std::size_t, GradientFlight>> segments;
  };

  [[nodiscard]] GradientBuffer& buffer_of(const GradientPlace& place);
  void join_if_beside(std::size_t parameter);
  void launch_complete();
  void launch(std::size_t unit);
  void exchange_rest();
  void finish_oldest();
  void finish(Flight& flight);
  void tell_reduced(Flight& flight);
  [[nodiscard]] std::size_t most_flights() const;
  void start_next_pass();
  [[nodiscard]] bool contributed(std::size_t parameter);
  [[nodiscard]] std::vector<bool> note_contributions();
  void refuse_missing(const std::vector<bool>& contributed) const;
  void agree_on_used(const std::vector<bool>& contributed);
  void learn_order();

  const Context& context_;
  const Inventory& inventory_;
  Units& units_;
  std::vector<GradientPlace> places_;
  SideStream beside_;
  /// Parameters that were left to it in this pass.
  std::vector<bool> is_beside_;
  int local_scopes_ = 0;

  /// Parameters of each unit that have not been seen in this pass, and those that have.
  std::vector<std::size_t> waiting_;
  std::vector<bool> seen_;
  /// Units in the order of their exchange, and how far this pass has come.
  std::vector<std::size_t> order_;
  std::size_t launched_ = 0;
  std::vector<std::size_t> completed_;
  bool order_known_ = false;
  std::deque<Flight> flights_;
  /// Exchanges of passes that failed.
  std::deque<Flight> abandoned_;
  /// Contributions to exchanges of this pass, of each parameter.
  std::vector<bool> exchanged_;
  std::vector<bool> used_;
  OnReduced on_reduced_;
};

}  // namespace sheaf::sharding
