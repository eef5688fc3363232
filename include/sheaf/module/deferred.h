#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>
#include <utility>

namespace torch::nn {
class Module;
}

namespace sheaf {

/// While it lives, modules built on this thread get parameters and buffers without memory: what
/// would fill them is written down and done later, by materialize() or by shard(), for each
/// parameter by itself. May be nested.
///
/// Written down are fills with constants and random numbers, of whole tensors and of parts, and
/// arithmetic with single numbers on them. An operator that reads a deferred tensor, now or later,
/// gives it its values first; random ones are then the same on all ranks, but know no seed. Code
/// that takes its data pointer without an operator, such as torch::save, gets an error. Constants
/// of less than 256 KiB, and tensors that are computed (arange, tensor, orthogonal_), are not
/// deferred; torch::empty() gives zeros. Only tensors on the CPU are deferred.
class DeferredConstruction {
 public:
  DeferredConstruction();
  ~DeferredConstruction();
  DeferredConstruction(const DeferredConstruction&) = delete;
  DeferredConstruction& operator=(const DeferredConstruction&) = delete;
};

/// Builds something that holds modules without giving its parameters memory:
///
///   auto model = sheaf::deferred([&] { return MyModel(options); });
template <class Build>
auto deferred(Build&& build) {
  const DeferredConstruction scope;
  return std::forward<Build>(build)();
}

/// Gives every deferred parameter and buffer of a model its memory and its values. Random values
/// depend on the seed and the parameter's name alone. Parameters that share memory get the values
/// of the first name; copies of one another, such as cloned layers, stay equal. What is not
/// deferred keeps its values.
void materialize(torch::nn::Module& model, std::uint64_t seed);

namespace module {

/// Tells whether a tensor still waits for its values.
[[nodiscard]] bool is_deferred(const at::Tensor& tensor);

/// Fills `target`, which has the shape of the deferred tensor, with the values that were written
/// down for it. Random ones depend on `seed` and `name` alone. The deferred tensor stays deferred.
/// From a tensor that is not deferred the values are copied; they are zero if nobody ever filled
/// it.
///
/// A contiguous CPU target of the same type is filled in place, such as a part of a flat buffer;
/// for any other a temporary on the CPU is made. Throws UsageError if the shapes differ.
void fill_deferred(const at::Tensor& deferred,
                   const at::Tensor& target,
                   std::uint64_t seed,
                   std::string_view name);

}  // namespace module
}  // namespace sheaf
