#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "nn/kernels/fused_product.h"
#include "sheaf/base/units.h"
#include "sheaf/train/peak_flops.h"

namespace sheaf::train {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kSmallest = 512;
constexpr std::int64_t kLargest = 4096;
// A product this long hides the start of its threads.
constexpr Seconds kLongEnough{0.008};
constexpr Seconds kBudget{0.2};
constexpr int kLeastTries = 3;

template <class Body>
Seconds time_of(const Body& body) {
  const auto start = Clock::now();
  body();
  return Clock::now() - start;
}

/// A square product whose operands are made once, from no random numbers. On some processors
/// LibTorch's is the faster one, on others sheaf's, which layers compute with.
class Product {
 public:
  Product(std::int64_t size, at::ScalarType type)
      : size_(size),
        // Small enough that sums stay small in every type.
        left_(at::full({size, size}, 0x1p-5, type)),
        right_(left_.clone()),
        result_(left_.clone()) {}

  Seconds time() {
    const Seconds by_libtorch = time_of([&] { at::mm_out(result_, left_, right_); });
    const Seconds by_sheaf =
        time_of([&] { nn::fused_product({.a = left_, .b = right_, .result = result_}); });
    return std::min(by_libtorch, by_sheaf);
  }
  [[nodiscard]] double flops() const { return 2 * std::pow(static_cast<double>(size_), 3); }

 private:
  std::int64_t size_;
  at::Tensor left_;
  at::Tensor right_;
  at::Tensor result_;
};

Product large_product(at::ScalarType type) {
  for (std::int64_t size = kSmallest;; size *= 2) {
    Product product(size, type);
    product.time();
    // The better of two, or someone else's work on the cores would make it look long enough.
    const Seconds time = std::min(product.time(), product.time());
    if (size == kLargest || time >= kLongEnough) return product;
  }
}

double best_rate(Product product) {
  const auto start = Clock::now();
  Seconds best = product.time();
  for (int i = 1; i < kLeastTries || Clock::now() - start < kBudget; ++i) {
    best = std::min(best, product.time());
  }
  return product.flops() / best.count();
}

}  // namespace

PeakFlops measure_cpu_peak(Arithmetic arithmetic) {
  const at::NoGradGuard no_grad;
  constexpr const char* kSource = "measured by a matrix product, {}";
  switch (arithmetic) {
    case Arithmetic::fp32:
    case Arithmetic::tf32:
      return {best_rate(large_product(at::kFloat)), fmt::format(kSource, "fp32")};
    case Arithmetic::bf16:
      return {best_rate(large_product(at::kBFloat16)), fmt::format(kSource, "bf16")};
    case Arithmetic::fp16:
      return {best_rate(large_product(at::kHalf)), fmt::format(kSource, "fp16")};
    case Arithmetic::fp8:
      break;
  }
  return {.flops = 0, .source = "no fp8 products on processors"};
}

}  // namespace sheaf::train
