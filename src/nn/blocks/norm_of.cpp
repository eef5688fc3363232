#include "norm_of.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

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

}  // namespace sheaf::nn
