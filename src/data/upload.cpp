#include "data/upload.h"

#include <ATen/ops/empty_like.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <array>
#include <utility>

namespace sheaf::data {

Upload::Upload(at::Device device)
    : device_(device),
      stream_(c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device)) {}

Upload::~Upload() {
  // The memory goes back to the user's stream: what comes next there must not meet the copy.
  if (moving_) moving_->done.block(moving_->user);
}

void Upload::start(Batch batch) {
  TORCH_INTERNAL_ASSERT(!moving_);
  const c10::Stream user = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
  const std::array tensors{&batch.inputs, &batch.targets, &batch.positions};
  std::array<at::Tensor, tensors.size()> rooms;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    // Memory of the user's stream, so that whoever drops a batch needs to know nothing of this one.
    if (tensors[i]->defined()) {
      rooms[i] = at::empty_like(*tensors[i], at::TensorOptions().device(device_));
    }
  }
  c10::Event free(device_.type());
  free.record(user);
  free.block(stream_);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (rooms[i].defined()) *tensors[i] = copy(*tensors[i], rooms[i]);
  }
  c10::Event done(device_.type());
  done.record(stream_);
  moving_.emplace(Moving{.batch = std::move(batch), .user = user, .done = std::move(done)});
}

Batch Upload::take() {
  TORCH_INTERNAL_ASSERT(moving_);
  moving_->done.block(moving_->user);
  Batch batch = std::move(moving_->batch);
  moving_.reset();
  return batch;
}

/// LibTorch keeps the page-locked memory until the copy is done.
at::Tensor Upload::copy(const at::Tensor& from, const at::Tensor& room) const {
  const c10::StreamGuard on_stream(stream_);
  return room.copy_(from, /*non_blocking=*/true);
}

}  // namespace sheaf::data
