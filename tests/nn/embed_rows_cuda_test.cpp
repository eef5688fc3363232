// Embeddings on a GPU: what the CPU gives, and the same bits every time.
#include "kernels_on_cuda.h"
#include "nn/kernels/embed_rows.h"
#include "sheaf/nn/embedding.h"

namespace sheaf::nn {
namespace {

class EmbeddingKernelsOnCuda : public OnCuda {
 protected:
  struct Inputs {
    at::Tensor table;
    at::Tensor tokens;
    at::Tensor places;
    at::Tensor positions;
  };

  static void expect_same_values(const Inputs& in) {
    const at::Tensor cpu = embed_rows(in.table, in.tokens, in.places, in.positions);
    const at::Tensor gpu =
        embed_rows(on_gpu(in.table), on_gpu(in.tokens), on_gpu(in.places), on_gpu(in.positions));
    EXPECT_TRUE(gpu.cpu().equal(cpu));
  }

  /// A target in which the rows of 10 tokens were added to ones.
  static at::Tensor added(const at::Tensor& rows, const at::Tensor& tokens, at::ScalarType type) {
    at::Tensor target = at::ones({10, rows.size(1)}, rows.options().dtype(type));
    add_embedding_gradient(rows, tokens, target);
    return target;
  }

  /// Token 4 has a third of all rows, and token 9 none.
  static at::Tensor some_tokens(std::int64_t count) {
    const at::Tensor tokens = at::randint(9, {count}, at::kLong);
    return tokens.masked_fill(at::rand({count}) < 0.3, 4);
  }
};

TEST_F(EmbeddingKernelsOnCuda, HaveTheRowsOfTheCpu) {
  for (const auto type : types()) {
    for (const std::int64_t width : {1, 7, 8, 33, 1280, 2056}) {
      const auto draw = [&](std::int64_t rows) { return at::randn({rows, width}).to(type); };
      const auto numbers = [](std::int64_t end) { return at::randint(end, {3, 11}, at::kLong); };
      expect_same_values({draw(50), numbers(50), {}, {}});
      expect_same_values({draw(50), numbers(50), draw(20), {}});
      expect_same_values({draw(50), numbers(50), draw(20), numbers(20)});
    }
  }
}

TEST_F(EmbeddingKernelsOnCuda, AddTheGradientOfTheCpu) {
  for (const auto type : types()) {
    for (const std::int64_t width : {1, 7, 8, 33, 264, 1280}) {
      for (const std::int64_t count : {1, 33, 700}) {
        SCOPED_TRACE(std::to_string(count) + " rows of " + std::to_string(width));
        const at::Tensor rows = at::randn({count, width}).to(type), tokens = some_tokens(count);
        const at::Tensor cpu = added(rows.to(at::kFloat), tokens, at::kFloat);
        const at::Tensor wide = added(on_gpu(rows), on_gpu(tokens), at::kFloat);
        expect_close(wide, cpu, 1e-5);
        expect_close(added(on_gpu(rows), on_gpu(tokens), type), cpu.to(type), tolerance(type));
      }
    }
  }
}

TEST_F(EmbeddingKernelsOnCuda, TakeMemoryAtAnyAddress) {
  const at::Tensor rows = at::randn({40, 64}).to(at::kBFloat16), tokens = some_tokens(40);
  expect_close(added(unaligned(on_gpu(rows)), on_gpu(tokens), at::kFloat),
               added(rows.to(at::kFloat), tokens, at::kFloat),
               1e-5);
  const at::Tensor table = unaligned(on_gpu(rows));
  EXPECT_TRUE(embed_rows(table, on_gpu(tokens), {}, {}).cpu().equal(rows.index({tokens})));
}

TEST_F(EmbeddingKernelsOnCuda, TakeNoTokens) {
  const at::Tensor none = at::empty({0}, at::TensorOptions(at::kCUDA).dtype(at::kLong));
  EXPECT_EQ(embed_rows(at::ones({4, 8}, at::kCUDA), none, {}, {}).size(0), 0);
  EXPECT_TRUE(added(at::empty({0, 8}, at::kCUDA), none, at::kFloat).eq(1).all().item<bool>());
}

TEST_F(EmbeddingKernelsOnCuda, SumPositionsOverTexts) {
  for (const auto type : types()) {
    const at::Tensor rows = at::randn({6, 5, 24}).to(type);
    at::Tensor cpu = at::zeros({9, 24}), gpu = at::zeros({9, 24}, at::kCUDA);
    add_position_gradient(rows, cpu);
    add_position_gradient(on_gpu(rows), gpu);
    expect_close(gpu, cpu, 1e-5);
  }
}

TEST_F(EmbeddingKernelsOnCuda, GiveTheSameBitsEveryTime) {
  const at::Tensor rows = at::randn({5000, 1280}, at::kCUDA).to(at::kBFloat16);
  const at::Tensor tokens = some_tokens(5000).to(at::kCUDA);
  EXPECT_TRUE(added(rows, tokens, at::kFloat).equal(added(rows, tokens, at::kFloat)));
}

TEST_F(EmbeddingKernelsOnCuda, GiveTheLayerItsGradient) {
  for (const auto type : types()) {
    const at::Tensor tokens = at::randint(9, {4, 25}, at::kLong);
    const auto gradient = [&](at::Device device) {
      const at::Tensor table = at::linspace(-1, 1, 9 * 16).view({9, 16}).to(device, type);
      const at::Tensor leaf = table.detach().requires_grad_();
      const at::Tensor rows = nn::embedding(leaf, tokens.to(device));
      rows.backward(at::linspace(-1, 2, rows.numel()).view(rows.sizes()).to(device, type));
      return leaf.grad();
    };
    expect_close(gradient(at::kCUDA), gradient(at::kCPU), 3 * tolerance(type));
  }
}

}  // namespace
}  // namespace sheaf::nn
