#include "sheaf/module/deferred.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/nn/module.h>

#include "module/deferred_storage.h"
#include "sheaf/base/error.h"

namespace sheaf {
namespace module {
namespace {

void check_target(const at::Tensor& deferred, const at::Tensor& target) {
  if (target.sizes() == deferred.sizes()) return;
  throw UsageError(fmt::format("a deferred tensor fills one of its own shape, [{}], got [{}]",
                               fmt::join(deferred.sizes(), ", "),
                               fmt::join(target.sizes(), ", ")));
}

void materialize_all(const torch::OrderedDict<std::string, at::Tensor>& tensors,
                     std::uint64_t seed) {
  for (const auto& named : tensors) {
    const auto& tensor = named.value();
    if (!tensor.defined() || !tensor.has_storage()) continue;
    give_memory(tensor, Owner{.seed = seed, .name = named.key()});
    drop_key(tensor);
  }
}

}  // namespace

bool is_deferred(const at::Tensor& tensor) { return waits(tensor); }

void fill_deferred(const at::Tensor& deferred,
                   const at::Tensor& target,
                   std::uint64_t seed,
                   std::string_view name) {
  check_target(deferred, target);
  if (replay_into(deferred, target, {.seed = seed, .name = name})) return;
  const at::NoGradGuard no_grad;
  target.copy_(deferred);
}

}  // namespace module

void materialize(torch::nn::Module& model, std::uint64_t seed) {
  module::materialize_all(model.named_parameters(), seed);
  module::materialize_all(model.named_buffers(), seed);
}

}  // namespace sheaf
