#include "words.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "sheaf/base/error.h"

namespace sheaf::comm::one_gpu {
namespace {

// Each word has a line of its own, so that polling one does not slow down writing another.
constexpr std::size_t kLine = 64;
constexpr std::size_t kTopics = 4;
constexpr std::size_t kPage = 4096;

}  // namespace

std::size_t Words::bytes(int num_ranks) {
  const auto n = static_cast<std::size_t>(num_ranks);
  const std::size_t used = (1 + kTopics * n * n) * kLine;
  return (used + kPage - 1) / kPage * kPage;
}

Words::Words(std::shared_ptr<shared::Segment> segment, int num_ranks)
    : segment_(std::move(segment)), num_ranks_(num_ranks) {
  cudaError_t error = cudaHostRegister(
      segment_->data(), segment_->size(), cudaHostRegisterPortable | cudaHostRegisterMapped);
  void* pointer = nullptr;
  if (error == cudaSuccess) error = cudaHostGetDevicePointer(&pointer, segment_->data(), 0);
  if (error != cudaSuccess) {
    throw CommError(fmt::format("CUDA cannot reach the memory that ranks share: {}",
                                cudaGetErrorString(error)));
  }
  on_device_ = static_cast<std::byte*>(pointer);
}

Words::~Words() { cudaHostUnregister(segment_->data()); }

std::size_t Words::place(Topic topic, int to, int from) const {
  const auto n = static_cast<std::size_t>(num_ranks_);
  const std::size_t word =
      (static_cast<std::size_t>(topic) * n + static_cast<std::size_t>(to)) * n +
      static_cast<std::size_t>(from);
  return (1 + word) * kLine;
}

shared::FutexWord& Words::operator()(Topic topic, int to, int from) const {
  return *reinterpret_cast<shared::FutexWord*>(segment_->data() + place(topic, to, from));
}

std::uint64_t Words::on_device(Topic topic, int to, int from) const {
  return reinterpret_cast<std::uint64_t>(on_device_ + place(topic, to, from));
}

shared::FutexWord& Words::left() const {
  return *reinterpret_cast<shared::FutexWord*>(segment_->data());
}

}  // namespace sheaf::comm::one_gpu
