#include "projection.h"

#include <ATen/ops/as_strided.h>
#include <ATen/ops/cat.h>

#include "nn/weight_gradients.h"
#include "sheaf/module/gradient_sink.h"

namespace sheaf::nn {
namespace {

/// Returns the targets as one if their memory is one matrix, and all of it is new or none.
module::GradientTarget joined_targets(const std::vector<module::GradientTarget>& targets) {
  std::vector<at::Tensor> places;
  for (const module::GradientTarget& target : targets) {
    if (!target || target.is_new != targets.front().is_new) return {};
    places.push_back(target.memory);
  }
  const module::GradientTarget& first = targets.front();
  return {joined_rows(places), first.is_new, first.beside};
}

}  // namespace

at::Tensor in_to_out(const at::Tensor& weight, WeightLayout layout) {
  // A view is an operator, which wakes parameters that are spread over ranks.
  return layout == WeightLayout::in_out ? weight.view(weight.sizes()) : weight.t();
}

at::Tensor weight_gradient(std::size_t input,
                           const at::Tensor& x,
                           const at::Tensor& of_result,
                           WeightLayout layout) {
  return layout == WeightLayout::in_out ? product_gradient(input, x, of_result)
                                        : product_gradient(input, of_result, x);
}

std::vector<at::Tensor> weight_gradients(std::size_t input,
                                         const at::Tensor& x,
                                         const at::Tensor& of_results,
                                         const std::vector<std::int64_t>& sizes) {
  std::vector<module::GradientTarget> targets;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    targets.push_back(open_product_gradient(input + i, x.scalar_type()));
  }
  if (const module::GradientTarget all = joined_targets(targets)) {
    static_cast<void>(product_gradient(all, of_results, x));
    return std::vector<at::Tensor>(sizes.size());
  }
  std::vector<at::Tensor> gradients;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    gradients.push_back(product_gradient(targets[i], of_results.narrow(1, begin, sizes[i]), x));
    begin += sizes[i];
  }
  return gradients;
}

at::Tensor joined_rows(at::TensorList parts) {
  const at::Tensor first = parts.front().view(parts.front().sizes());
  std::int64_t rows = 0;
  const auto* next = static_cast<const std::byte*>(first.const_data_ptr());
  for (const at::Tensor& part : parts) {
    // Of another unit, which is asleep perhaps, nobody may ask where it lies.
    const bool is_in_one_memory =
        part.storage().unsafeGetStorageImpl() == first.storage().unsafeGetStorageImpl();
    if (!is_in_one_memory || part.dim() != 2 || part.size(1) != first.size(1) ||
        !part.is_contiguous() || part.scalar_type() != first.scalar_type() ||
        part.const_data_ptr() != next) {
      return {};
    }
    rows += part.size(0);
    next += part.nbytes();
  }
  return first.as_strided({rows, first.size(1)}, {first.size(1), 1});
}

at::Tensor joined_columns(const at::Tensor& left, const at::Tensor& right) {
  const std::int64_t width = left.size(1) + right.size(1);
  const bool beside = left.is_alias_of(right) && left.strides() == right.strides() &&
                      left.stride(1) == 1 && left.stride(0) == width &&
                      right.storage_offset() == left.storage_offset() + left.size(1);
  return beside ? left.as_strided({left.size(0), width}, left.strides())
                : at::cat({left, right}, 1);
}

}  // namespace sheaf::nn
