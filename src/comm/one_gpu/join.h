#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "../backend.h"
#include "../peers.h"
#include "sheaf/base/units.h"

namespace sheaf::comm::one_gpu {

struct JoinOptions {
  Members members;
  std::shared_ptr<const Peers> peers;
  at::Device device = at::kCUDA;
  Seconds timeout{1800};
};

/// Forms a group of processes that use the same GPU; `host` connects them already. Every rank calls
/// it. Throws CommError where the GPU's memory cannot be shared, UsageError for too many ranks.
[[nodiscard]] std::unique_ptr<Backend> join(std::unique_ptr<Backend> host,
                                            const JoinOptions& options);

}  // namespace sheaf::comm::one_gpu
