#pragma once

#include <filesystem>

#include "sheaf/train/options.h"
#include "study/json.h"

namespace sheaf::study {

/// Writes what the PyTorch side starts from into a folder: the initial weights as Hugging Face has
/// them, every batch of the run as numbers, and settings.json, whose path is returned.
[[nodiscard]] std::filesystem::path write_peer_inputs(const train::RunOptions& options,
                                                      int ranks,
                                                      const std::filesystem::path& folder);

}  // namespace sheaf::study
