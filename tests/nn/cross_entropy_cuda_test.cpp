// The loss of a chunk of logits on a GPU: what the CPU gives, and the same bits every time.
#include "kernels_on_cuda.h"
#include "nn/kernels/cross_entropy.h"

namespace sheaf::nn {
namespace {

class CrossEntropyKernelsOnCuda : public OnCuda {
 protected:
  /// Rows of logits, `distance` elements apart, and targets of which one is ignored.
  static LogitsChunk chunk(std::int64_t rows, std::int64_t vocabulary, std::int64_t distance) {
    const at::Tensor memory = at::randn({rows, distance}) * 4;
    at::Tensor targets = at::randint(vocabulary, {rows}, at::kLong);
    targets[rows / 2] = -100;
    return {.logits = memory.narrow(1, 0, vocabulary), .targets = targets};
  }

  /// Returns a copy on a device, with the same distances.
  static LogitsChunk copy(const LogitsChunk& of, at::Device device, at::ScalarType type) {
    LogitsChunk result = of;
    const std::int64_t distance = of.logits.stride(0);
    const at::Tensor memory =
        at::full({of.logits.size(0), distance}, 7, of.logits.options().device(device).dtype(type));
    result.logits = memory.narrow(1, 0, of.logits.size(1)).copy_(of.logits);
    result.targets = of.targets.to(device);
    return result;
  }

  static void expect_same(const LogitsChunk& of, at::ScalarType type) {
    // In fp32 what the narrow type holds.
    LogitsChunk cpu_chunk = of;
    cpu_chunk.logits = of.logits.to(type).to(at::kFloat).clone();
    const ChunkLoss cpu = cross_entropy_of_chunk(cpu_chunk, true);
    const LogitsChunk gpu_chunk = copy(of, at::kCUDA, type);
    const ChunkLoss gpu = cross_entropy_of_chunk(gpu_chunk, true);
    const double loss = cpu.loss.item<double>();
    EXPECT_NEAR(gpu.loss.item<double>(), loss, 2e-6 * std::abs(loss) + 1e-6);
    EXPECT_EQ(gpu.loss.scalar_type(), at::kDouble);
    EXPECT_EQ(gpu.gradient.scalar_type(), type);
    expect_near(gpu.gradient.cpu(), cpu.gradient, tolerance(type));
    EXPECT_TRUE(gpu.gradient[of.logits.size(0) / 2].eq(0).all().item<bool>());
  }
};

TEST_F(CrossEntropyKernelsOnCuda, AreThoseOfTheCpuInAllWidths) {
  for (const auto type : types()) {
    for (const std::int64_t vocabulary : {1, 7, 8, 15, 33, 1280, 8192, 50257}) {
      SCOPED_TRACE(std::string(c10::toString(type)) + " of " + std::to_string(vocabulary));
      expect_same(chunk(5, vocabulary, vocabulary), type);
      expect_same(chunk(5, vocabulary, (vocabulary + 127) / 128 * 128), type);
    }
  }
}

TEST_F(CrossEntropyKernelsOnCuda, TakeAnyNumberOfRows) {
  for (const std::int64_t rows : {2, 3, 1025, 5000}) {
    expect_same(chunk(rows, 33, 40), at::kBFloat16);
  }
}

TEST_F(CrossEntropyKernelsOnCuda, LeaveAloneWhatIsBetweenRows) {
  for (const auto type : types()) {
    const LogitsChunk gpu = copy(chunk(5, 33, 48), at::kCUDA, type);
    EXPECT_TRUE(cross_entropy_of_chunk(gpu, true).gradient.is_same(gpu.logits));
    const at::Tensor between =
        gpu.logits.as_strided({5, 48 - 33}, {48, 1}, gpu.logits.storage_offset() + 33);
    EXPECT_TRUE(between.eq(7).all().item<bool>());
  }
}

TEST_F(CrossEntropyKernelsOnCuda, LeaveLogitsAloneWithoutGradient) {
  const LogitsChunk gpu = copy(chunk(5, 33, 48), at::kCUDA, at::kBFloat16);
  const at::Tensor before = gpu.logits.clone();
  const ChunkLoss loss = cross_entropy_of_chunk(gpu, false);
  EXPECT_FALSE(loss.gradient.defined());
  EXPECT_TRUE(gpu.logits.equal(before));
}

TEST_F(CrossEntropyKernelsOnCuda, HaveNoLossForWhatIsNoToken) {
  for (const std::int64_t wrong : {-7, 33}) {
    LogitsChunk gpu = copy(chunk(5, 33, 33), at::kCUDA, at::kFloat);
    gpu.targets[1] = wrong;
    EXPECT_TRUE(std::isnan(cross_entropy_of_chunk(gpu, true).loss.item<double>()));
  }
}

TEST_F(CrossEntropyKernelsOnCuda, StayFiniteAtExtremes) {
  LogitsChunk of = chunk(5, 1280, 1280);
  of.logits.mul_(1000);
  of.logits[0].fill_(-1e30);
  of.logits[0][3] = 1e30;
  expect_same(of, at::kFloat);
  expect_same(of, at::kBFloat16);
}

TEST_F(CrossEntropyKernelsOnCuda, GiveTheSameBitsEveryTime) {
  const LogitsChunk of = chunk(300, 50257, 50304);
  const LogitsChunk one = copy(of, at::kCUDA, at::kBFloat16);
  const LogitsChunk two = copy(of, at::kCUDA, at::kBFloat16);
  EXPECT_TRUE(cross_entropy_of_chunk(one, true).loss.equal(cross_entropy_of_chunk(two, true).loss));
  EXPECT_TRUE(one.logits.equal(two.logits));
}

}  // namespace
}  // namespace sheaf::nn
