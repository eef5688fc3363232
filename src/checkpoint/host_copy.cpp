#include "checkpoint/host_copy.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <cstring>

namespace sheaf::checkpoint {
namespace {

// Of every part, so that any type may lie there.
constexpr std::int64_t kAlignment = 64;

std::int64_t room_for(const Part& part) {
  const auto bytes = static_cast<std::int64_t>(part.values.nbytes());
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Within the host by this thread alone: threads of a pool would wait for one another wherever
/// other ranks use the cores.
void copy_values(const at::Tensor& values, const at::Tensor& room) {
  // An empty one has no address, and memcpy wants one all the same.
  if (values.numel() == 0) return;
  if (values.is_cpu()) {
    std::memcpy(room.mutable_data_ptr(), values.const_data_ptr(), values.nbytes());
  } else {
    room.copy_(values);
  }
}

}  // namespace

std::vector<Part> HostCopy::take(const std::vector<Part>& parts) {
  const at::NoGradGuard no_grad;
  std::int64_t total = 0;
  bool from_gpu = false;
  for (const Part& part : parts) {
    total += room_for(part);
    from_gpu = from_gpu || part.values.is_cuda();
  }
  if (!bytes_.defined() || bytes_.numel() < total) {
    bytes_ = at::Tensor();
    // Copies from a GPU are several times as fast into page-locked memory.
    bytes_ = at::empty({total}, at::TensorOptions().dtype(at::kByte).pinned_memory(from_gpu));
  }
  std::vector<Part> copies;
  std::int64_t begin = 0;
  for (const Part& part : parts) {
    const auto size = static_cast<std::int64_t>(part.values.nbytes());
    const at::Tensor room = bytes_.narrow(0, begin, size).view(part.values.scalar_type());
    copy_values(part.values, room);
    copies.push_back({part.name, part.begin, room});
    begin += room_for(part);
  }
  return copies;
}

}  // namespace sheaf::checkpoint
