#include "sheaf/train/memory_use.h"

#include <fstream>
#include <sstream>
#include <string_view>

#include "sheaf/base/error.h"
#include "sheaf/memory/cpu_usage.h"
#include "train/gpu.h"

namespace sheaf::train {
namespace {

void require_known(at::Device device) {
  if (device.is_cpu() || device.is_cuda()) return;
  throw UsageError("sheaf trains on cpu and cuda devices, not on " + device.str());
}

void add_process_memory(MemoryUse& use) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string key;
    std::int64_t count = 0;
    if (!(words >> key >> count)) continue;
    if (key == "VmRSS:") use.resident = kibibytes(count);
    if (key == "VmHWM:") use.peak_resident = kibibytes(count);
  }
}

MemoryUse cpu_memory() {
  const auto usage = memory::cpu_usage();
  return {.allocated = usage.current, .peak_allocated = usage.peak, .reserved = usage.reserved};
}

std::string processor_name() {
  constexpr std::string_view kKey = "model name";
  std::ifstream processors("/proc/cpuinfo");
  for (std::string line; std::getline(processors, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with(kKey) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

}  // namespace

MemoryUse measure_memory(at::Device device) {
  require_known(device);
  MemoryUse use = device.is_cuda() ? gpu_memory(device) : cpu_memory();
  add_process_memory(use);
  return use;
}

std::string device_name(at::Device device) {
  require_known(device);
  return device.is_cuda() ? gpu_name(device) : processor_name();
}

}  // namespace sheaf::train
