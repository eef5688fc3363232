#include "fake_backend.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

namespace sheaf::comm {

void FakeBackend::all_gather(const at::Tensor& output, const at::Tensor& input) {
  const at::Tensor parts = output.view({members_.size(), -1});
  for (int r = 0; r < members_.size(); ++r) {
    // The input may be one of the parts.
    if (parts[r].data_ptr() != input.data_ptr()) parts[r].copy_(input.view({-1}));
  }
}

void FakeBackend::reduce_scatter(const at::Tensor& output,
                                 const at::Tensor& input,
                                 Reduce /*how*/) {
  const std::int64_t part = output.numel();
  output.view({-1}).copy_(input.view({-1}).narrow(0, part * members_.rank, part));
}

at::Tensor FakeBackend::shared_empty(std::int64_t numel, at::ScalarType dtype) {
  return at::empty({numel}, dtype);
}

std::unique_ptr<Backend> FakeBackend::split(const Members& members, const std::string& /*name*/) {
  return std::make_unique<FakeBackend>(members);
}

}  // namespace sheaf::comm
