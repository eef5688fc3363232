#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace sheaf::launch {

/// Returns how many GPUs a program with this CUDA_VISIBLE_DEVICES would see, without starting CUDA:
/// the driver's device files below `root`, less those that the variable leaves out.
[[nodiscard]] int count_gpus(const std::optional<std::string>& visible,
                             const std::filesystem::path& root);
/// The same for programs that this process starts.
[[nodiscard]] int count_gpus();

}  // namespace sheaf::launch
