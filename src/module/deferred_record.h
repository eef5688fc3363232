#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "module/deferred_draw.h"

namespace sheaf::module {

/// An in-place operator and what it is given after the tensor it changes.
struct Fill {
  c10::OperatorHandle op;
  std::vector<c10::IValue> arguments;

  /// Returns which of the operator's arguments is a generator; none if it is not random.
  [[nodiscard]] std::optional<int> generator_index() const;
  /// Runs it now on `self`. The generator takes the place of the one in the arguments, if there is
  /// one.
  void run(const at::Tensor& self, const at::Generator& generator = {}) const;
};

/// A fill of one view of a storage.
struct Step {
  Step(Fill what, const at::Tensor& self, DrawPtr random = nullptr);

  Fill fill;
  at::ScalarType type;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  std::int64_t offset;
  DrawPtr draw;
};

/// What has to happen to a storage that has no memory yet. The first step always covers all of it,
/// so memory that is given need not be cleared.
class Record {
 public:
  explicit Record(at::ScalarType type) : type_(type) {}

  [[nodiscard]] at::ScalarType type() const { return type_; }
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }

  void append(Step step) { steps_.push_back(std::move(step)); }
  /// Forgets what was written down, because it is overwritten.
  void restart(at::ScalarType type);
  /// Makes the values end up as another type.
  void convert(at::ScalarType type) { type_ = type; }
  /// Does what was written down to `flat`, which is all of a storage on the CPU, of type().
  void replay(const at::Tensor& flat, std::optional<Owner> owner) const;

 private:
  at::ScalarType type_;
  std::vector<Step> steps_;
};

}  // namespace sheaf::module
