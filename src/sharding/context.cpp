#include "context.h"

#include <ATen/ops/empty.h>

#include "sheaf/memory/cpu_usage.h"

namespace sheaf::sharding {

at::Tensor Context::lasting_empty(std::int64_t numel, at::ScalarType dtype) const {
  if (device.is_cpu() && shard.size() > 1) {
    return memory::count_shared(shard.shared_empty(numel, dtype));
  }
  return at::empty({numel}, at::TensorOptions(device).dtype(dtype));
}

at::Tensor Context::whole_parameters(std::int64_t numel, at::ScalarType dtype) const {
  if (cuts_state()) return lasting_empty(numel, dtype);
  return at::empty({numel}, at::TensorOptions(device).dtype(dtype));
}

}  // namespace sheaf::sharding
