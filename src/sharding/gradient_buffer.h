#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "context.h"
#include "segment.h"
#include "sheaf/module/gradient_sink.h"
#include "sheaf/sharding/reduce_hook.h"
#include "side_stream.h"

namespace sheaf::sharding {

/// One exchange of a segment's gradient on its way.
struct GradientFlight {
  GradientExchange exchange;
  Pending pending;
  /// Whether the sum over the shard group has been passed on to the other copies of the model.
  bool replicated = false;
  /// Whether the result holds something already, to which this one is added.
  bool adds = false;
  /// Whether it becomes the result as it is; see Note [Kept as sent].
  bool keeps = false;
  /// Whether its memory is the result's own and stays for the step: the computation need not wait
  /// for the exchange before what it does next.
  bool stays = false;
  std::shared_ptr<void> hook_memory;
  std::vector<memory::Charge> charges;
};

/// The gradient of a segment: what this rank has computed (`local`, whole), and the sum over all
/// ranks of what has been exchanged so far (`result`, shaped as the master).
///
/// Note [Local and result]: sums over passes without exchange go into `local`, sums of exchanged
/// passes into `result`, both in the master's type. With ddp and zero1, whose gradients are whole,
/// the first exchanged pass needs no second buffer: `local` is the lasting buffer, and `result` is
/// it or this rank's part of it.
///
/// Note [Kept as sent]: a gradient that travels in bf16, is exchanged once in its step and is seen
/// by sheaf's optimizer only stays as it came: copied to the master's type it would have the same
/// digits in twice the memory. On GPUs, where its memory need not last. In fp16 it would not stand
/// what is done with it next: norms and scales.
///
/// Note [Gradients come and go]: on a GPU memory is cheap to take and give back, so the lasting
/// buffer is there from a step's first gradient to its last use, and activations have the room in
/// forward. On the CPU it lies where peers can reach it, and stays.
class GradientBuffer {
 public:
  GradientBuffer(const Context& context, const Segment& segment);

  /// Adds a parameter's gradient to the local sum. `exchanged` tells that this pass ends with an
  /// exchange.
  void add(std::size_t member, const at::Tensor& gradient, bool exchanged);
  /// Returns a parameter's place in the local sum, in the given shape, for someone who adds to it;
  /// nothing if the sum is kept in another type.
  [[nodiscard]] module::GradientTarget open(std::size_t member,
                                            at::IntArrayRef shape,
                                            at::ScalarType type,
                                            bool exchanged);
  /// Returns a parameter's place for a gradient that is there before backward; null if the place is
  /// taken, or the sum is kept in another type. Whatever needs the place before settle() makes the
  /// other keep a copy.
  [[nodiscard]] module::EarlyGradientPtr lend(std::size_t member,
                                              at::IntArrayRef shape,
                                              at::ScalarType type,
                                              bool exchanged);
  /// Counts what was lent as this pass's gradient; returns false if it is not in its place any
  /// more.
  [[nodiscard]] bool settle(std::size_t member, const module::EarlyGradient& gradient);
  /// Tells whether the local sum has something of a parameter.
  [[nodiscard]] bool has(std::size_t member) const { return contributed_[member]; }
  [[nodiscard]] bool has_any() const;

  /// Starts to exchange the local sum, which is empty afterwards, when what is `beside` is there.
  [[nodiscard]] GradientFlight start_exchange(SideStream& beside);
  /// Passes the sum on to the other copies of the model; waits for the first exchange.
  void replicate(GradientFlight& flight);
  /// Waits for an exchange and adds it to the result. In the order they were started.
  void finish_exchange(GradientFlight& flight);

  /// Returns the exchanged gradient, shaped as the master; undefined if there is none.
  [[nodiscard]] at::Tensor result() const {
    return has_result_ && !used_up_ ? result_ : at::Tensor();
  }
  /// Tells whether what this rank gave to the result's exchanges was finite, where that is traced.
  [[nodiscard]] bool was_finite(std::size_t member) const { return !non_finite_[member]; }
  /// The parameters have been stepped with the result. Its memory stays until it is forgotten: on a
  /// GPU the step may still read it.
  void use_up() { used_up_ = true; }
  [[nodiscard]] bool is_used_up() const { return used_up_; }
  void forget_result();
  void forget_local();
  /// From now on results are in the master's type, for optimizers that want them so.
  void widen_results() { widens_ = true; }

 private:
  void open_local(bool exchanged);
  [[nodiscard]] at::Tensor place_of(std::size_t member, at::IntArrayRef shape) const;
  void call_back(std::size_t member);
  void call_back_all();
  void take_lasting();
  [[nodiscard]] bool keeps_as_sent() const;
  void keep_as_sent(const at::Tensor& sum);
  void widen_result();
  void release_lasting();
  void clear_gaps(const at::Tensor& whole) const;
  void fill_missing();
  void note_non_finite();
  [[nodiscard]] bool stays(const GradientFlight& flight) const;
  [[nodiscard]] at::Tensor transient(std::int64_t numel,
                                     at::ScalarType dtype,
                                     std::vector<memory::Charge>& charges) const;
  [[nodiscard]] at::ScalarType master_type() const { return segment_.master().scalar_type(); }
  [[nodiscard]] at::ScalarType wire_type() const;

  const Context& context_;
  const Segment& segment_;
  /// What lasts: all of it for ddp and zero1, this rank's part for zero2 and zero3. See Note
  /// [Gradients come and go].
  at::Tensor lasting_;
  at::Tensor result_;
  bool has_result_ = false;
  bool used_up_ = false;
  bool widens_ = false;
  at::Tensor local_;
  std::vector<memory::Charge> local_charges_;
  std::vector<bool> contributed_;
  std::vector<bool> non_finite_;
  /// What is lent, by parameter; gone where the pass was dropped.
  std::map<std::size_t, std::weak_ptr<module::EarlyGradient>> lent_;
  memory::Charge charge_;
};

}  // namespace sheaf::sharding
