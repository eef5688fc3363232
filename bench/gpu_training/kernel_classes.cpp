#include "kernel_classes.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace sheaf::bench {
namespace {

struct Word {
  std::string_view text;
  KernelClass kind;
};

// The first word that a name has decides. So words that are in names of other kinds, too, come
// late: attention kernels have cutlass types as arguments, and the kernels of LibTorch that do
// almost anything else are called elementwise or reduce.
constexpr std::array kWords{
    Word{"nccl", KernelClass::exchange},
    Word{"one_gpu", KernelClass::exchange},
    Word{"memcpy", KernelClass::copy},
    Word{"memset", KernelClass::copy},
    Word{"fmha", KernelClass::attention},
    Word{"flash", KernelClass::attention},
    Word{"sdpa", KernelClass::attention},
    Word{"attention", KernelClass::attention},
    Word{"cudnn::fusion", KernelClass::attention},
    Word{"adam", KernelClass::optimizer},
    Word{"sgd", KernelClass::optimizer},
    Word{"optim", KernelClass::optimizer},
    Word{"multi_tensor_apply", KernelClass::optimizer},
    Word{"global_norm", KernelClass::optimizer},
    Word{"normtwoops", KernelClass::optimizer},
    Word{"sum_of_squares", KernelClass::optimizer},
    Word{"cross_entropy", KernelClass::loss},
    Word{"softmax", KernelClass::loss},
    Word{"nll_loss", KernelClass::loss},
    Word{"loss", KernelClass::loss},
    Word{"layer_norm", KernelClass::norm},
    Word{"layernorm", KernelClass::norm},
    Word{"rms_norm", KernelClass::norm},
    Word{"rmsnorm", KernelClass::norm},
    Word{"gammabeta", KernelClass::norm},
    Word{"norm_forward", KernelClass::norm},
    Word{"norm_backward", KernelClass::norm},
    Word{"norm_kernel", KernelClass::norm},
    Word{"norm_of_warp", KernelClass::norm},
    Word{"normgradientrows", KernelClass::norm},
    Word{"nvjet", KernelClass::gemm},
    Word{"gemm", KernelClass::gemm},
    Word{"gemv", KernelClass::gemm},
    Word{"xmma", KernelClass::gemm},
    Word{"cublas", KernelClass::gemm},
    Word{"splitk", KernelClass::gemm},
    Word{"cutlass", KernelClass::gemm},
    Word{"gelu", KernelClass::elementwise},
    Word{"swiglu", KernelClass::elementwise},
    Word{"silu", KernelClass::elementwise},
    Word{"rotary", KernelClass::elementwise},
    Word{"embedding", KernelClass::elementwise},
    Word{"drop_kernel", KernelClass::elementwise},
    Word{"join_columns", KernelClass::elementwise},
    Word{"put_scaled", KernelClass::elementwise},
    Word{"elementwise", KernelClass::elementwise},
    Word{"reduce", KernelClass::elementwise},
    Word{"column_", KernelClass::elementwise},
    Word{"sums_of_parts", KernelClass::elementwise},
    Word{"catarray", KernelClass::elementwise},
    Word{"index", KernelClass::elementwise},
    Word{"bias", KernelClass::elementwise},
};

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return small;
}

}  // namespace

KernelClass class_of_kernel(std::string_view name) {
  const std::string small = in_small_letters(name);
  const auto found = std::ranges::find_if(
      kWords, [&](const Word& word) { return small.find(word.text) != std::string::npos; });
  return found == kWords.end() ? KernelClass::other : found->kind;
}

std::string_view name_of(KernelClass kind) {
  switch (kind) {
    case KernelClass::gemm:
      return "GEMM";
    case KernelClass::attention:
      return "attention";
    case KernelClass::norm:
      return "norm";
    case KernelClass::elementwise:
      return "elementwise";
    case KernelClass::loss:
      return "loss";
    case KernelClass::optimizer:
      return "optimizer";
    case KernelClass::exchange:
      return "exchange";
    case KernelClass::copy:
      return "copy";
    case KernelClass::other:
      return "other";
  }
  return "other";
}

}  // namespace sheaf::bench
