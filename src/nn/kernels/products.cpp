#include "products.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>

#include <ATen/ops/linear.h>

#include <optional>
#include <string_view>

#include "cpu.h"
#include "plain.h"

namespace sheaf::nn {
namespace {

using Pointwise = at::Tensor(const at::Tensor& x,
                             const at::Tensor& w,
                             const std::optional<at::Tensor>& bias,
                             std::string_view after,
                             c10::List<std::optional<at::Scalar>> scalars,
                             std::optional<std::string_view> algorithm);
using PointwiseHandle = c10::TypedOperatorHandle<Pointwise>;

/// Returns nothing where LibTorch was built without oneDNN.
const std::optional<PointwiseHandle>& one_dnn() {
  static const auto kFound = []() -> std::optional<PointwiseHandle> {
    const auto found = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
    if (!found || !found->hasKernelForDispatchKey(c10::DispatchKey::CPU)) return std::nullopt;
    return found->typed<Pointwise>();
  }();
  return kFound;
}

/// oneDNN's operator has no derivative, so it must not be where one is recorded.
bool is_recorded(const at::Tensor& x, const at::Tensor& w) {
  return at::GradMode::is_enabled() && (x.requires_grad() || w.requires_grad());
}

}  // namespace

bool has_one_dnn() { return one_dnn().has_value(); }

bool prefers_one_dnn() {
  static const bool kPreferred = has_one_dnn() && !is_made_by_intel();
  return kPreferred;
}

at::Tensor times_transposed_by_one_dnn(const at::Tensor& x,
                                       const at::Tensor& w,
                                       const at::Tensor& bias) {
  if (!has_one_dnn() || !is_plain_fp32(x) || !is_plain_fp32(w) || x.numel() == 0 ||
      w.numel() == 0 || is_recorded(x, w)) {
    return {};
  }
  const auto added = bias.defined() ? std::optional(bias) : std::nullopt;
  return one_dnn()->call(x, w, added, "none", c10::List<std::optional<at::Scalar>>(), "");
}

at::Tensor times_transposed(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias) {
  const at::Tensor result =
      prefers_one_dnn() ? times_transposed_by_one_dnn(x, w, bias) : at::Tensor();
  return result.defined() ? result : at::linear(x, w, bias);
}

}  // namespace sheaf::nn
