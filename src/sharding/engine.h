#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "buffers.h"
#include "context.h"
#include "gatherer.h"
#include "gradient_tap.h"
#include "inventory.h"
#include "reducer.h"
#include "sheaf/module/claim.h"
#include "sheaf/module/touch.h"
#include "sheaf/sharding/state.h"
#include "unit.h"
#include "unit_spans.h"
#include "updates.h"

namespace sheaf::sharding {

/// Everything behind one sharded model. It is driven by the model's own computation: boundaries and
/// touched tensors wake units, gradient hooks collect gradients, and the end of a backward pass
/// finishes the exchange.
class Engine : public std::enable_shared_from_this<Engine> {
 public:
  Engine(Context context, Inventory inventory, const std::vector<UnitPlan>& plans);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Puts hooks, claims and watches on the model; to be called once.
  void attach();

  // What the model's computation tells.
  void enter_forward(std::size_t unit);
  void leave_forward(std::size_t unit);
  void enter_backward(std::size_t unit);
  void leave_backward(std::size_t unit);
  /// The root's boundary, which is there also where the root has no parameters of its own.
  void enter_model();
  void before_gradient(std::size_t parameter);
  [[nodiscard]] module::GradientTarget open_gradient(std::size_t parameter, at::ScalarType type);
  [[nodiscard]] module::EarlyGradientPtr lend_gradient(std::size_t parameter, at::ScalarType type);
  [[nodiscard]] bool settle_gradient(std::size_t parameter, const module::EarlyGradient& gradient);
  void on_gradient(std::size_t parameter);
  void touched(std::size_t unit) noexcept;

  // What optimizers and the user ask for.
  [[nodiscard]] const Context& context() const { return context_; }
  [[nodiscard]] const Inventory& inventory() const { return inventory_; }
  [[nodiscard]] Units& units() { return units_; }
  [[nodiscard]] Reducer& reducer() { return reducer_; }
  [[nodiscard]] Gatherer& gatherer() { return gatherer_; }
  [[nodiscard]] Updates& updates() { return updates_; }
  /// Returns what a torch::optim optimizer may step, for each trainable parameter; undefined for
  /// the others.
  [[nodiscard]] const std::vector<at::Tensor>& give_handles();
  /// Throws what went wrong where nothing could be thrown.
  void check_failure();
  void zero_gradients();
  /// Whole parameters follow the masters, wherever these have changed since the last exchange.
  void refresh();
  void mark_fresh();
  void after_step();

 private:
  void follow_writer();
  void follow_foreign_step();
  void stop_expecting();
  friend class PassEnd;
  void begin_pass();
  void end_pass();
  void abandon_pass() noexcept;
  void notice_cleared_gradients();
  void show_gradients();
  void make_handles();
  void attach_hooks();
  void attach_boundaries();
  void watch();
  void note_outside_use(std::size_t unit);
  void settle_watching();
  void expect_foreign_step();
  void watch_handles();

  Context context_;
  Inventory inventory_;
  Units units_;
  UnitSpans spans_;
  Gatherer gatherer_;
  Reducer reducer_;
  Updates updates_;
  Buffers buffers_;
  std::vector<at::Tensor> handles_;
  /// Whether a handle shows its gradient.
  std::vector<bool> shown_;
  std::vector<module::ClaimHandle> claims_;
  std::vector<std::unique_ptr<GradientTap>> taps_;
  /// The stream that wrote to the gradients last, on a GPU.
  std::optional<c10::Stream> writer_;
  std::vector<module::TouchWatch> watches_;
  std::vector<module::TouchWatch> handle_watches_;
  /// Whether backward is under way.
  bool in_pass_ = false;
  bool handles_given_ = false;
  /// Whether masters may have moved on from whole parameters.
  bool stale_ = false;
  /// Whether they may do so still, although whole parameters have followed.
  bool unsure_ = false;
  /// Whether anybody has used the handles since parameters were gathered or have followed.
  std::atomic<bool> handles_used_ = false;
  bool crossed_boundary_ = false;
  /// Units that were found to be used outside of their boundaries.
  std::vector<bool> told_outside_;
  int watched_passes_ = 0;
  std::exception_ptr failure_;
};

}  // namespace sheaf::sharding
