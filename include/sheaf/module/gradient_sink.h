#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace sheaf::module {

/// Takes work on gradients that nobody waits for within the pass, and has it done beside what the
/// caller computes next.
class Beside {
 public:
  virtual ~Beside() = default;
  /// Calls `work`, whose kernels run when all that has been computed so far is there, in the order
  /// of calls. They read `reads`, which nobody may write any more, and write places of gradients.
  virtual void run(const std::function<void()>& work, std::vector<at::Tensor> reads) = 0;
};

/// Where a layer writes a parameter's gradient itself.
struct GradientTarget {
  /// Shaped as the parameter. Undefined: the gradient goes to LibTorch as usual.
  at::Tensor memory;
  /// Whether there are no values yet: all of it is to be written then, else added to.
  bool is_new = false;
  /// Who may be left to fill it; null: it is filled right away.
  Beside* beside = nullptr;

  explicit operator bool() const { return memory.defined(); }
  /// Calls `write`, which fills it from `reads`, or leaves it to who is beside.
  void fill(const std::function<void()>& write, std::vector<at::Tensor> reads) const {
    beside != nullptr ? beside->run(write, std::move(reads)) : write();
  }
};

/// A parameter's gradient that a layer has computed before backward, in the memory where it belongs
/// if that could be had. Whoever needs that memory first moves it out.
class EarlyGradient {
 public:
  EarlyGradient(at::Tensor values, bool in_place)
      : values_(std::move(values)), in_place_(in_place) {}

  /// Shaped as the parameter; undefined when it has been taken.
  [[nodiscard]] const at::Tensor& values() const { return values_; }
  [[nodiscard]] bool in_place() const { return in_place_; }
  /// Gives the memory back and keeps a copy.
  void move_out();
  /// Returns the values, which are not here any more.
  [[nodiscard]] at::Tensor take() { return std::exchange(values_, {}); }

 private:
  at::Tensor values_;
  bool in_place_;
};

using EarlyGradientPtr = std::shared_ptr<EarlyGradient>;

/// Takes the gradients of one parameter from layers that can write them where they belong, so that
/// nothing is copied. Who wants to be it adds a hook to the parameter's gradient accumulator (see
/// LibTorch's Node::add_post_hook) that is a GradientSink as well.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  /// Returns memory of `type`, or nothing. What is returned will be filled right away, or given to
  /// who is beside.
  virtual GradientTarget open(at::ScalarType type) = 0;
  /// Returns memory of `type` for a gradient that is computed before backward, or null.
  virtual EarlyGradientPtr lend(at::ScalarType type) = 0;
  /// Counts an early gradient, in backward, as given. Returns false if it is not in place any more.
  virtual bool settle(const EarlyGradient& gradient) = 0;
};

/// For layers, in the backward of a torch::autograd::Function: returns where the gradient of its
/// tensor argument number `input` may be written. The gradient that the layer then returns must be
/// undefined. Gives nothing where others want to see the gradient: in passes that compute chosen
/// gradients or higher derivatives, and where the parameter has hooks of the user's.
[[nodiscard]] GradientTarget open_gradient(std::size_t input, at::ScalarType type);

/// For layers, in forward: returns room for the gradient of a parameter that the layer computes
/// right away, or null where there is none, or others want to see the gradient.
[[nodiscard]] EarlyGradientPtr lend_gradient(const at::Tensor& parameter, at::ScalarType type);

/// For layers, in backward: counts an early gradient of tensor argument number `input` as given,
/// and returns it, still in its place, for a last change. The gradient that the layer then returns
/// must be undefined. Returns an undefined tensor where it has to go another way; the layer has it
/// all the same.
[[nodiscard]] at::Tensor settle_gradient(std::size_t input, EarlyGradient& gradient);

}  // namespace sheaf::module
