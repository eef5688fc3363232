#include "graph_obstacle.h"

#include <fmt/format.h>

namespace sheaf::train {

std::optional<std::string> graph_obstacle(const RunOptions& options, const GraphSetting& setting) {
  if (options.comm.device == comm::DeviceKind::cpu) return "comm.device = cpu has no CUDA graphs";
  if (setting.backend != "nccl") {
    return fmt::format(
        "exchanges over {} need the host in the middle of a step, only those over "
        "nccl do not",
        setting.backend);
  }
  if (setting.has_scaler) {
    return "precision.compute = fp16 asks the host whether to skip a step, bf16 does not";
  }
  if (setting.is_guarded) {
    return "fault.nonfinite and fault.spike_factor ask the host before each update";
  }
  if (setting.dropout > 0) {
    return fmt::format("dropout ({}) takes the number of the step from the host", setting.dropout);
  }
  if (setting.has_drill) return "fault.inject disturbs steps from the host";
  if (options.fault.check == comm::Check::full) {
    return "fault.check = full compares every exchange on the host";
  }
  if (options.fault.trace_nonfinite) return "fault.trace_nonfinite looks at gradients on the host";
  if (setting.labels_memory) return "memory is counted block by block";
  return std::nullopt;
}

}  // namespace sheaf::train
