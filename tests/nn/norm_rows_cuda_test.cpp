// Norms of rows on a GPU: what the CPU gives, and the same bits every time.
#include "kernels_on_cuda.h"
#include "nn/kernels/norm_rows.h"

namespace sheaf::nn {
namespace {

/// Everything that a norm gives, forward and backward.
struct NormResults {
  at::Tensor value;
  /// What the gradients' kernel writes besides them.
  at::Tensor again;
  NormStatistics statistics;
  NormGradients gradients;
  at::Tensor of_weight;
  at::Tensor of_bias;
};

struct NormInputs {
  at::Tensor x;
  at::Tensor weight;
  /// Undefined: the root mean square.
  at::Tensor bias;
  at::Tensor of_result;
  at::Tensor residual;
};

class NormKernelsOnCuda : public OnCuda {
 protected:
  using Change = std::function<at::Tensor(const at::Tensor&)>;

  static NormInputs inputs(std::int64_t rows, std::int64_t width, at::ScalarType type) {
    const auto draw = [&](at::IntArrayRef shape) { return at::randn(shape).to(type); };
    return {.x = (at::randn({rows, width}) * 2 + 0.5).to(type),
            .weight = draw({width}),
            .bias = draw({width}),
            .of_result = draw({rows, width}),
            .residual = draw({rows, width})};
  }

  static NormInputs changed(const NormInputs& in, const Change& change) {
    const auto of = [&](const at::Tensor& x) { return x.defined() ? change(x) : x; };
    return {of(in.x), of(in.weight), of(in.bias), of(in.of_result), of(in.residual)};
  }

  static NormResults run(const NormInputs& in) {
    NormResults result;
    const NormOptions options{in.bias.defined() ? NormKind::layer : NormKind::root_mean_square,
                              1e-5};
    result.value = norm_rows(in.x, in.weight, in.bias, options, result.statistics);
    const NormBackward back{in.of_result, in.x, in.weight, result.statistics, in.residual};
    result.gradients = norm_rows_gradients(back, in.bias.defined());
    // Into memory that has values, of other types than one another's.
    result.of_weight = at::ones_like(in.weight);
    result.of_bias = in.bias.defined() ? at::ones_like(in.bias, at::kFloat) : at::Tensor();
    (void)norm_rows_back(back, {result.of_weight, /*adds=*/true}, {result.of_bias});
    NormBackward with_again = back;
    with_again.bias = in.bias;
    with_again.again = result.again = at::empty_like(in.x);
    EXPECT_TRUE(norm_rows_gradients(with_again, in.bias.defined()).x.equal(result.gradients.x));
    return result;
  }

  static void expect_same(const NormResults& gpu, const NormResults& cpu, double narrow) {
    // Sums of many rows are in another order.
    constexpr double kWide = 2e-5;
    expect_close(gpu.value, cpu.value, narrow);
    EXPECT_TRUE(gpu.again.equal(gpu.value));
    expect_close(gpu.statistics.mean, cpu.statistics.mean, kWide);
    expect_close(gpu.statistics.inverse, cpu.statistics.inverse, kWide);
    expect_close(gpu.gradients.x, cpu.gradients.x, narrow);
    expect_close(gpu.gradients.weight, cpu.gradients.weight, kWide);
    expect_close(gpu.gradients.bias, cpu.gradients.bias, kWide);
    expect_close(gpu.of_weight, cpu.of_weight, std::max(narrow, kWide));
    expect_close(gpu.of_bias, cpu.of_bias, kWide);
  }

  static void expect_same_on_gpu(const NormInputs& in, const Change& change = on_gpu) {
    expect_same(run(changed(in, change)), run(in), tolerance(in.x.scalar_type()));
  }
};

TEST_F(NormKernelsOnCuda, AreThoseOfTheCpuInAllWidths) {
  for (const auto type : types()) {
    for (const std::int64_t width : {7, 8, 33, 72, 768, 1280, 2048, 2056, 4096, 5000, 8192, 9000}) {
      SCOPED_TRACE(std::string(c10::toString(type)) + " of width " + std::to_string(width));
      NormInputs in = inputs(37, width, type);
      expect_same_on_gpu(in);
      in.bias = at::Tensor();
      expect_same_on_gpu(in);
    }
  }
}

// What is left of the gradients of such rows is little of what they are the difference of.
TEST_F(NormKernelsOnCuda, TakeRowsOfOneElement) {
  NormInputs in = inputs(37, 1, at::kFloat);
  expect_same(run(changed(in, on_gpu)), run(in), 1e-3);
  in.bias = at::Tensor();
  expect_same(run(changed(in, on_gpu)), run(in), 1e-3);
}

TEST_F(NormKernelsOnCuda, TakeAnyNumberOfRows) {
  for (const auto type : types()) {
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 1055, 8191}) {
      SCOPED_TRACE(std::string(c10::toString(type)) + ", rows " + std::to_string(rows));
      expect_same_on_gpu(inputs(rows, 40, type));
    }
  }
}

TEST_F(NormKernelsOnCuda, NeedNoResidual) {
  for (const std::int64_t width : {33, 64}) {
    NormInputs in = inputs(9, width, at::kBFloat16);
    in.residual = at::Tensor();
    expect_same_on_gpu(in);
  }
}

TEST_F(NormKernelsOnCuda, TakeMemoryAtAnyAddress) {
  for (const auto type : types()) {
    expect_same_on_gpu(inputs(9, 64, type),
                       [](const at::Tensor& x) { return unaligned(x.to(at::kCUDA)); });
  }
}

TEST_F(NormKernelsOnCuda, TakeViewsWithGaps) {
  expect_same_on_gpu(inputs(9, 64, at::kBFloat16), [](const at::Tensor& x) {
    if (x.dim() == 1) return x.to(at::kCUDA);
    const at::Tensor room = at::empty({x.size(0), 100}, x.options().device(at::kCUDA));
    return room.narrow(1, 8, x.size(1)).copy_(x);
  });
}

TEST_F(NormKernelsOnCuda, TakeNoRows) {
  const NormResults result = run(changed(inputs(0, 64, at::kBFloat16), on_gpu));
  EXPECT_EQ(result.value.size(0), 0);
  EXPECT_TRUE(result.gradients.weight.equal(at::zeros({64}, at::kCUDA)));
}

TEST_F(NormKernelsOnCuda, GiveTheSameBitsEveryTime) {
  for (const std::int64_t width : {1280, 1283}) {
    const NormInputs in = changed(inputs(3000, width, at::kBFloat16), on_gpu);
    const NormResults first = run(in), second = run(in);
    EXPECT_TRUE(first.value.equal(second.value));
    EXPECT_TRUE(first.gradients.x.equal(second.gradients.x));
    EXPECT_TRUE(first.gradients.weight.equal(second.gradients.weight));
    EXPECT_TRUE(first.gradients.bias.equal(second.gradients.bias));
  }
}

TEST_F(NormKernelsOnCuda, KeepTheirDigitsFarFromZero) {
  NormInputs in = inputs(9, 1280, at::kFloat);
  in.x += 1000;
  const NormResults gpu = run(changed(in, on_gpu));
  const NormResults wide = run(changed(in, [](const at::Tensor& x) { return x.to(at::kDouble); }));
  expect_near(gpu.value.cpu(), wide.value, 2e-4);
}

}  // namespace
}  // namespace sheaf::nn
