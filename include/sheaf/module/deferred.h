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
/// parameter by itself.
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
/// depend on the seed and the parameter's name alone.
void materialize(torch::nn::Module& model, std::uint64_t seed);

namespace module {

/// Tells whether a tensor still waits for its values.
[[nodiscard]] bool is_deferred(const at::Tensor& tensor);

/// Fills `target`, which has the shape and type of the deferred tensor, with the values that were
/// written down for it. Random ones depend on `seed` and `name` alone. The deferred tensor stays
/// deferred.
void fill_deferred(const at::Tensor& deferred,
                   const at::Tensor& target,
                   std::uint64_t seed,
                   std::string_view name);

}  // namespace module
}  // namespace sheaf
