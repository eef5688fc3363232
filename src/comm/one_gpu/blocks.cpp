#include "blocks.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <fmt/format.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <cstring>
#include <string>

#include "sheaf/base/error.h"

namespace sheaf::comm::one_gpu {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

/// A handle as it travels. Those of LibTorch's allocator have no fixed length.
struct Letter {
  std::int64_t offset = 0;
  std::int64_t length = 0;
  char handle[4096 - 2 * sizeof(std::int64_t)] = {};
};

Letter letter_of(const at::Tensor& block) {
  const allocator::ShareableHandle shared = allocator::shareIpcHandle(block.data_ptr());
  Letter letter{.offset = shared.offset, .length = static_cast<std::int64_t>(shared.handle.size())};
  if (shared.handle.size() > sizeof(letter.handle)) {
    throw CommError(
        fmt::format("a handle of {} bytes for the GPU's memory is too long to share; do "
                    "without expandable_segments in PYTORCH_CUDA_ALLOC_CONF",
                    shared.handle.size()));
  }
  std::memcpy(letter.handle, shared.handle.data(), shared.handle.size());
  return letter;
}

}  // namespace

Blocks::Blocks(Backend& host, const Members& members, at::Device device, std::size_t bytes)
    : bytes_(bytes),
      own_(at::empty({static_cast<std::int64_t>(bytes)},
                     at::TensorOptions(device).dtype(at::kByte))) {
  const int size = members.size();
  const auto length = static_cast<std::int64_t>(sizeof(Letter));
  const Letter letter = letter_of(own_);
  const at::Tensor sent = at::zeros({length}, at::kByte);
  std::memcpy(sent.data_ptr(), &letter, sizeof(letter));
  const at::Tensor received = at::empty({size, length}, at::kByte);
  host.all_gather(received, sent);
  for (int r = 0; r < size; ++r) {
    if (r == members.rank) {
      blocks_.push_back(static_cast<std::byte*>(own_.data_ptr()));
      continue;
    }
    Letter from;
    std::memcpy(&from, received.const_data_ptr<std::uint8_t>() + r * length, sizeof(from));
    opened_.push_back(
        allocator::getIpcDevPtr({from.handle, static_cast<std::size_t>(from.length)}));
    blocks_.push_back(static_cast<std::byte*>(opened_.back().get()) + from.offset);
  }
  host.barrier();
}

}  // namespace sheaf::comm::one_gpu
