#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "compat.h"

namespace sheaf::comm::compat {

c10::intrusive_ptr<c10d::Backend> nccl(const ProcessGroupOptions& options, at::Device device) {
  auto settings = c10d::ProcessGroupNCCL::Options::create(/*is_high_priority_stream=*/true);
  settings->timeout = std::chrono::duration_cast<std::chrono::milliseconds>(options.timeout);
  auto group = c10::make_intrusive<c10d::ProcessGroupNCCL>(
      options.store, options.rank, options.size, settings);
  group->setBoundDeviceId(device);
  group->eagerConnectSingleDevice(device);
  return group;
}

}  // namespace sheaf::comm::compat
