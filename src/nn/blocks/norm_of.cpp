#include "norm_of.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "nn/weight_gradients.h"
#include "sheaf/base/error.h"

namespace sheaf::nn {

void check_norm(std::string_view layer, const at::Tensor& x, const NormParameters& norm) {
  if (x.dim() > 0 && norm.weight.dim() == 1 && norm.weight.size(0) == x.size(-1)) return;
  throw UsageError(
      fmt::format("{} of an input of shape {} needs a norm as long as its rows, got {}",
                  layer,
                  fmt::streamed(x.sizes()),
                  fmt::streamed(norm.weight.sizes())));
}

at::Tensor norm_gradients(const NormBackward& in,
                          std::size_t weight,
                          std::optional<std::size_t> bias,
                          torch::autograd::variable_list& results,
                          PendingSums& later) {
  const SumTarget of_weight(weight, in.x);
  std::optional<SumTarget> of_bias;
  if (bias) of_bias.emplace(*bias, in.x);
  at::Tensor of_x = norm_rows_back(
      in, of_weight.place(&later), of_bias ? of_bias->place(&later) : VectorTarget{});
  results[weight] = of_weight.gradient();
  if (bias) results[*bias] = of_bias->gradient();
  return of_x;
}

}  // namespace sheaf::nn
