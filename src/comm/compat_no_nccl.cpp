#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "compat.h"
#include "sheaf/base/error.h"

namespace sheaf::comm::compat {

c10::intrusive_ptr<c10d::Backend> nccl(const ProcessGroupOptions& /*options*/,
                                       at::Device /*device*/) {
  throw UsageError("this sheaf was built without CUDA, so there is no nccl; use gloo or shared");
}

}  // namespace sheaf::comm::compat
