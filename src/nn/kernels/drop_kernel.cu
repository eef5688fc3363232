#include <algorithm>
#include <string>

#include "drop_kernel.h"
#include "sheaf/base/error.h"

namespace sheaf::nn {
namespace {

constexpr int kThreadsPerBlock = 256;
constexpr std::int64_t kMostBlocks = 4096;

/// A thread makes the four words of one block of places at a time, and drops what they say.
template <class T>
__global__ void drop_kernel(DropElements all, DropRule rule, std::int64_t groups_per_sample) {
  const T* input = static_cast<const T*>(all.input);
  T* output = static_cast<T*>(all.output);
  const T scale = static_cast<T>(rule.scale);
  const std::int64_t per_sample = groups_per_sample * kBlocksPerGroup;
  const std::int64_t apart = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < all.num_samples * per_sample; i += apart) {
    const std::int64_t sample = i / per_sample, block = i % per_sample;
    const Words drawn = words_of_block(rule, all.first_sample + sample, block);
    const std::int64_t first = block / kBlocksPerGroup * kGroup + block % kBlocksPerGroup;
    for (int word = 0; word < 4; ++word) {
      const std::int64_t place = first + word * kBlocksPerGroup;
      if (place >= all.sample_size) break;
      const std::int64_t at = sample * all.sample_size + place;
      output[at] = drawn.word[word] < rule.threshold ? T{0} : input[at] * scale;
    }
  }
}

}  // namespace

void launch_drop(const DropElements& all, const DropRule& rule, void* stream) {
  const std::int64_t groups = all.groups_per_sample();
  const std::int64_t threads = all.num_samples * groups * kBlocksPerGroup;
  const std::int64_t wanted = (threads + kThreadsPerBlock - 1) / kThreadsPerBlock;
  const auto blocks = static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, kMostBlocks));
  auto* const queue = static_cast<cudaStream_t>(stream);
  if (all.is_double) {
    drop_kernel<double><<<blocks, kThreadsPerBlock, 0, queue>>>(all, rule, groups);
  } else {
    drop_kernel<float><<<blocks, kThreadsPerBlock, 0, queue>>>(all, rule, groups);
  }
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return;
  throw Error(std::string("the kernel of dropout did not start: ") + cudaGetErrorString(error));
}

}  // namespace sheaf::nn
