#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/doctor/checks.h"
#include "comm/devices.h"

namespace sheaf::cli::doctor {

/// Reports sheaf, LibTorch, CUDA and its devices.
[[nodiscard]] std::vector<Check> build_checks(const comm::CudaDevices& devices);

/// Compares the LibTorch that sheaf was compiled against with the one that was loaded.
[[nodiscard]] Check libtorch_check(const std::string& compiled, const std::string& loaded);

/// `driver`: the version of NVIDIA's kernel driver; empty where there is none.
[[nodiscard]] Check cuda_check(const comm::CudaDevices& devices, const std::string& driver);

[[nodiscard]] Check cuda_device_check(int index, const comm::CudaDevice& device);

/// Returns the version in the text of /proc/driver/nvidia/version; empty if it has none.
[[nodiscard]] std::string driver_version(std::string_view text);

}  // namespace sheaf::cli::doctor
