#include "sheaf/sharding/sync_batch_norm.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "sheaf/base/error.h"

namespace sheaf {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Sums over everything but the channels, in fp32 or better.
at::Tensor per_channel(const at::Tensor& tensor) {
  std::vector<std::int64_t> dims{0};
  for (std::int64_t d = 2; d < tensor.dim(); ++d) dims.push_back(d);
  const bool is_double = tensor.scalar_type() == at::kDouble;
  return tensor.sum(dims, /*keepdim=*/false, is_double ? at::kDouble : at::kFloat);
}

/// Gives a value per channel the shape that goes with the input.
at::Tensor spread(const at::Tensor& channels, const at::Tensor& like) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(like.dim()), 1);
  shape[1] = channels.numel();
  return channels.view(shape);
}

void sum_over_ranks(const comm::Group& group, const at::Tensor& tensor) {
  group.all_reduce(tensor, {.purpose = comm::Purpose::activations}).wait();
}

/// Means, sums of squared deviations from them, and how many values there were.
struct Moments {
  at::Tensor mean;
  at::Tensor squares;
  at::Tensor count;
};

/// Every rank's moments are put together, rather than sums of squares added up, which would lose
/// the variance of values with a large mean.
Moments moments_over_ranks(const at::Tensor& input, const comm::Group& group) {
  const std::int64_t channels = input.size(1);
  const double count = static_cast<double>(input.numel() / channels);
  const at::Tensor mean = per_channel(input) / std::max(count, 1.0);
  const at::Tensor squares = per_channel((input - spread(mean, input)).square());
  const at::Tensor own = at::cat({mean, squares, at::full({1}, count, mean.options())});
  const at::Tensor all = at::empty({group.size(), own.numel()}, own.options());
  group.all_gather(all, own, {.purpose = comm::Purpose::activations}).wait();
  const at::Tensor means = all.narrow(1, 0, channels);
  const at::Tensor counts = all.narrow(1, 2 * channels, 1);
  const at::Tensor total = counts.sum(0);
  Moments result;
  result.mean = (means * counts).sum(0) / total;
  result.squares =
      all.narrow(1, channels, channels).sum(0) + ((means - result.mean).square() * counts).sum(0);
  result.count = total;
  return result;
}

struct GroupHolder : torch::CustomClassHolder {
  explicit GroupHolder(comm::Group held) : group(std::move(held)) {}
  comm::Group group;
};

/// Normalises without weight and bias. With x' = (x - mean) * scale the gradient is
/// scale * (g - mean(g) - x' * mean(g * x')), the means being over all ranks.
struct Normalize : torch::autograd::Function<Normalize> {
  static variable_list forward(AutogradContext* context,
                               const at::Tensor& input,
                               const comm::Group& group,
                               double epsilon) {
    const Moments all = moments_over_ranks(input, group);
    const at::Tensor& mean = all.mean;
    const at::Tensor& total = all.count;
    const at::Tensor variance = all.squares / total;
    const at::Tensor scale = (variance + epsilon).rsqrt();
    const at::Tensor output =
        ((input - spread(mean, input)) * spread(scale, input)).to(input.scalar_type());
    context->save_for_backward({output, scale, total});
    context->saved_data["group"] =
        c10::IValue::make_capsule(c10::make_intrusive<GroupHolder>(group));
    context->set_materialize_grads(true);
    context->mark_non_differentiable({mean, variance, total});
    return {output, mean, variance, total};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor& output = saved[0];
    const at::Tensor& gradient = gradients[0];
    const auto holder =
        c10::static_intrusive_pointer_cast<GroupHolder>(context->saved_data["group"].toCapsule());
    const at::Tensor sums = at::cat({per_channel(gradient), per_channel(gradient * output)});
    sum_over_ranks(holder->group, sums);
    const std::int64_t channels = output.size(1);
    const at::Tensor means = sums / saved[2];
    const at::Tensor centred = gradient - spread(means.narrow(0, 0, channels), output) -
                               output * spread(means.narrow(0, channels, channels), output);
    return {(centred * spread(saved[1], output)).to(gradient.scalar_type()), {}, {}};
  }
};

void update_running(const at::Tensor& running, const at::Tensor& value, double momentum) {
  if (running.defined()) running.mul_(1 - momentum).add_(value.to(running.scalar_type()), momentum);
}

}  // namespace

at::Tensor sync_batch_norm(const at::Tensor& input,
                           const BatchNormTensors& tensors,
                           const comm::Group& group,
                           const BatchNormOptions& options) {
  if (input.dim() < 2) {
    throw UsageError(
        fmt::format("sync_batch_norm needs a batch and channels, got {} dims", input.dim()));
  }
  if (!options.training) {
    return at::batch_norm(input,
                          tensors.weight,
                          tensors.bias,
                          tensors.running_mean,
                          tensors.running_var,
                          /*training=*/false,
                          options.momentum,
                          options.epsilon,
                          /*cudnn_enabled=*/true);
  }
  const variable_list results = Normalize::apply(input, group, options.epsilon);
  {
    const at::NoGradGuard no_grad;
    update_running(tensors.running_mean, results[1], options.momentum);
    // As LibTorch: what is kept is the unbiased variance.
    const at::Tensor& total = results[3];
    const at::Tensor unbiased = results[2] * (total / (total - 1).clamp_min(1));
    update_running(tensors.running_var, unbiased, options.momentum);
  }
  at::Tensor output = results[0];
  if (tensors.weight.defined()) output = output * spread(tensors.weight, output);
  if (tensors.bias.defined()) output = output + spread(tensors.bias, output);
  return output;
}

}  // namespace sheaf
