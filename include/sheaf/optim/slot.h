#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::optim {

/// One parameter, or the part of it that is kept here, as an optimizer sees it.
struct Slot {
  /// The parameter's name in its model, such as "blocks.3.attention.weight".
  std::string name;
  /// Shape of the whole parameter.
  std::vector<std::int64_t> shape;
  /// Where the part begins in its segment.
  std::int64_t offset = 0;
  /// Elements of the part; 0 if none of the parameter is kept here.
  std::int64_t size = 0;
};

/// A flat run of parameters that is stepped in one pass.
struct Segment {
  /// The values that are stepped: flat, contiguous, fp32, fp64 or bf16. Elements that no slot
  /// covers are padding and stay as they are.
  at::Tensor master;
  /// Gets a copy of the stepped master in the model's own type; undefined where the model computes
  /// with the master itself, as with one in bf16.
  at::Tensor copy;
  /// In order of their offset.
  std::vector<Slot> slots;
};

/// What an optimizer steps. Whoever owns the parameters implements it; the optimizer knows nothing
/// of ranks and of how gradients came to be.
///
/// A step is begin_step(), then for each segment gradient(), the arithmetic and stepped(), then
/// end_step(), always in order of the segments; one without a gradient is passed over. Segments
/// that were stepped within backward, see step_as_ready(), had gradient(), the arithmetic and
/// stepped() there.
class SlotSource {
 public:
  /// Steps a segment.
  using StepSegment = std::function<void(std::size_t)>;

  virtual ~SlotSource() = default;

  [[nodiscard]] virtual const std::vector<Segment>& segments() const = 0;
  /// Returns memory for one state of an optimizer, such as "exp_avg", shaped as the segment's
  /// master, of the given type and filled with zeros.
  [[nodiscard]] virtual at::Tensor new_state(std::size_t segment,
                                             std::string_view what,
                                             at::ScalarType type) = 0;

  /// Waits until all gradients are there; throws an Error that says which are missing.
  virtual void begin_step() = 0;
  /// Returns the gradient of a segment, shaped as its master, and typed so unless it is fp32 or
  /// bf16 beside the other; undefined if it has none in this step, which leaves the segment as it
  /// is.
  [[nodiscard]] virtual at::Tensor gradient(std::size_t segment) = 0;
  /// Tells whether a slot takes part in this step. One that had no gradient does not: neither decay
  /// nor momentum move it.
  [[nodiscard]] virtual bool takes_part(std::size_t segment, std::size_t slot) const = 0;
  /// The segment has its new values.
  virtual void stepped(std::size_t segment) = 0;
  /// The step is over and the gradients have been used up.
  virtual void end_step() = 0;

  /// Has `step` called within the next backward pass that completes gradients: once for each
  /// segment, as soon as its gradient is complete and nothing of the pass needs its values any
  /// more. What it gives to a GPU runs beside the rest of the pass; gradient() is undefined from
  /// then on. Returns false where the source cannot know: then nothing is called. An empty `step`
  /// takes the last one back.
  [[nodiscard]] virtual bool step_as_ready(StepSegment /*step*/) { return false; }
};

using Slots = std::shared_ptr<SlotSource>;

}  // namespace sheaf::optim
