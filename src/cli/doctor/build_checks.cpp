#include "cli/doctor/build_checks.h"

#include <caffe2/core/common.h>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "cli/doctor/read_text.h"
#include "comm/compat.h"
#include "sheaf/base/version.h"

namespace sheaf::cli::doctor {
namespace {

std::string loaded_libtorch_version() {
  const auto& options = caffe2::GetBuildOptions();
  const auto found = options.find("TORCH_VERSION");
  return found == options.end() ? "" : found->second;
}

Check cuda_not_built_in(const std::string& driver) {
  Check check{.name = "CUDA", .value = "not built in, everything runs on the CPU"};
  if (driver.empty()) return check;
  check.value = fmt::format("not built in, but there is an NVIDIA driver {}", driver);
  check.status = Status::note;
  check.advice = "to use the GPU, build sheaf with -DSHEAF_CUDA=ON, a LibTorch with CUDA, and nvcc";
  return check;
}

std::string advice_without_devices(const comm::CudaDevices& devices, const std::string& driver) {
  if (driver.empty()) {
    return fmt::format(
        "there is no NVIDIA driver: without a GPU everything runs on the CPU; with one, install a "
        "driver for CUDA {}, or start the container with --gpus all",
        devices.cuda_version);
  }
  return fmt::format("look at nvidia-smi and CUDA_VISIBLE_DEVICES; LibTorch says: {}",
                     first_line(devices.trouble));
}

}  // namespace

Check libtorch_check(const std::string& compiled, const std::string& loaded) {
  if (loaded.empty() || loaded == compiled) return {.name = "LibTorch", .value = compiled};
  return {.name = "LibTorch",
          .value = fmt::format("{} loaded, {} compiled against", loaded, compiled),
          .status = Status::wrong,
          .advice = fmt::format("build sheaf again with LibTorch {}, or have LD_LIBRARY_PATH "
                                "lead to LibTorch {}",
                                loaded,
                                compiled)};
}

Check cuda_check(const comm::CudaDevices& devices, const std::string& driver) {
  if (!devices.built_in) return cuda_not_built_in(driver);
  const std::string with_driver = driver.empty() ? "no driver" : "driver " + driver;
  Check check{.name = "CUDA",
              .value = fmt::format("{}, {}, {} {}",
                                   devices.cuda_version,
                                   with_driver,
                                   devices.devices.size(),
                                   devices.devices.size() == 1 ? "device" : "devices")};
  if (!devices.devices.empty()) return check;
  check.status = Status::note;
  check.advice = advice_without_devices(devices, driver);
  return check;
}

Check cuda_device_check(int index, const comm::CudaDevice& device) {
  Check check{.name = fmt::format("device cuda:{}", index)};
  if (!device.trouble.empty()) {
    check.value = first_line(device.trouble);
    check.status = Status::wrong;
    check.advice =
        fmt::format("look at nvidia-smi, or leave device {} out with CUDA_VISIBLE_DEVICES", index);
    return check;
  }
  check.value = fmt::format("{}, {} free of {}, compute capability {}.{}",
                            device.name,
                            to_string(device.free_memory),
                            to_string(device.memory),
                            device.major,
                            device.minor);
  if (device.free_memory.count >= device.memory.count / 2) return check;
  check.status = Status::note;
  check.advice = "other processes hold most of its memory; nvidia-smi names them";
  return check;
}

std::string driver_version(std::string_view text) {
  std::istringstream line{std::string(text.substr(0, text.find('\n')))};
  for (std::string word; line >> word;) {
    const bool has_dot = word.find('.') != std::string::npos;
    if (has_dot && word.find_first_not_of("0123456789.") == std::string::npos) return word;
  }
  return "";
}

std::vector<Check> build_checks(const comm::CudaDevices& devices) {
  const std::string driver = driver_version(read_text("/proc/driver/nvidia/version"));
  std::vector<Check> checks = {
      {.name = "sheaf", .value = std::string(version())},
      libtorch_check(comm::compat::libtorch_version(), loaded_libtorch_version()),
      cuda_check(devices, driver)};
  for (std::size_t i = 0; i < devices.devices.size(); ++i) {
    checks.push_back(cuda_device_check(static_cast<int>(i), devices.devices[i]));
  }
  return checks;
}

}  // namespace sheaf::cli::doctor
