#pragma once

#include <memory>
#include <vector>

#include "sheaf/train/options.h"
#include "sheaf/train/sink.h"

namespace sheaf::train {

/// Makes the folder `log.dir` names, writes config.toml into it (the options as resolved) and
/// returns the sinks that write the rest: metrics.jsonl, environment.json and, if wanted, event
/// files for TensorBoard. Returns none where no folder is named. Throws IoError.
[[nodiscard]] std::vector<std::shared_ptr<Sink>> open_run_folder(const RunOptions& options);

}  // namespace sheaf::train
