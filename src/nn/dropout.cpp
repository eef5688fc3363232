#include "sheaf/nn/dropout.h"

#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>

#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cmath>

#include "kernels/cpu.h"
#include "kernels/drop_cuda.h"
#include "sheaf/base/error.h"

namespace sheaf::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Groups of elements that are worth a thread.
constexpr std::int64_t kGrain = 128;

DropRule rule_of(const DropoutSite& site, const Randomness& random) {
  constexpr double kWords = 4294967296.0;
  return {.key = philox_key(random.seed, static_cast<std::uint64_t>(site.layer)),
          .step = static_cast<std::uint32_t>(random.step),
          .threshold = static_cast<std::uint32_t>(
              std::min(std::round(site.probability * kWords), kWords - 1)),
          .scale = 1 / (1 - site.probability)};
}

/// Returns `x`, of fp32 or fp64, with what the rule drops dropped.
at::Tensor dropped(const at::Tensor& x, const DropRule& rule, std::int64_t first_sample) {
  const at::Tensor from = x.contiguous();
  at::Tensor to = at::empty_like(from);
  if (from.numel() == 0) return to;
  const std::int64_t num_samples = from.dim() == 0 ? 1 : from.size(0);
  const DropElements all{.input = from.const_data_ptr(),
                         .output = to.mutable_data_ptr(),
                         .num_samples = num_samples,
                         .sample_size = from.numel() / num_samples,
                         .first_sample = first_sample,
                         .is_double = from.scalar_type() == at::kDouble};
  if (from.is_cuda()) {
    drop_on_cuda(all, rule, from);
    return to;
  }
  in_parallel({num_samples * all.groups_per_sample(), kGrain},
              [&](Part groups) { best_kernels().drop(all, rule, groups); });
  return to;
}

/// Backward drops the same elements of the gradient.
struct Dropout : torch::autograd::Function<Dropout> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& x,
                            const DropoutSite& site,
                            const Randomness& random) {
    context->saved_data["probability"] = site.probability;
    context->saved_data["layer"] = site.layer;
    context->saved_data["seed"] = static_cast<std::int64_t>(random.seed);
    context->saved_data["step"] = random.step;
    context->saved_data["first_sample"] = random.first_sample;
    const bool is_wide = x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble;
    const at::Tensor wide = is_wide ? x : x.to(at::kFloat);
    return dropped(wide, rule_of(site, random), random.first_sample).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    auto& saved = context->saved_data;
    const DropoutSite site{.probability = saved["probability"].toDouble(),
                           .layer = saved["layer"].toInt()};
    const Randomness random{.seed = static_cast<std::uint64_t>(saved["seed"].toInt()),
                            .step = saved["step"].toInt(),
                            .first_sample = saved["first_sample"].toInt()};
    return {dropout(gradients[0], site, random), {}, {}};
  }
};

}  // namespace

at::Tensor dropout(const at::Tensor& x, const DropoutSite& site, const Randomness& random) {
  if (site.probability == 0) return x;
  if (!(site.probability > 0 && site.probability < 1)) {
    throw UsageError(fmt::format(
        "the probability of dropout must be at least 0 and below 1, got {}", site.probability));
  }
  if (!x.is_cpu() && !x.is_cuda()) {
    throw UsageError(
        fmt::format("dropout works on cpu and cuda tensors only, got {}", x.device().str()));
  }
  return Dropout::apply(x, site, random);
}

}  // namespace sheaf::nn
