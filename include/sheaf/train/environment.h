#pragma once

#include <string>
#include <vector>

#include "sheaf/train/record.h"

namespace sheaf::train {

/// Returns, as JSON, what a result depends on besides the configuration: versions of sheaf,
/// LibTorch, CUDA and the compiler; host, processor, cores, memory, GPUs; ranks, threads; the
/// command line and the time. No user names, no environment variables.
[[nodiscard]] std::string environment_json(const RunInfo& info,
                                           const std::vector<std::string>& command);

}  // namespace sheaf::train
