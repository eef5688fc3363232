#include "join.h"
#include "sheaf/base/error.h"

namespace sheaf::comm::one_gpu {

std::unique_ptr<Backend> join(std::unique_ptr<Backend> /*host*/, const JoinOptions& /*options*/) {
  throw UsageError("the one_gpu backend is not in this build, which has no CUDA");
}

}  // namespace sheaf::comm::one_gpu
