#include <ATen/cuda/CUDAContextLight.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <fmt/format.h>

#include "devices.h"

namespace sheaf::comm {
namespace {

// Returns 13000 as "13.0".
std::string version_text(long version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Bytes to_bytes(std::size_t count) { return {static_cast<std::int64_t>(count)}; }

CudaDevice ask(at::DeviceIndex index) {
  CudaDevice device;
  try {
    const cudaDeviceProp& properties = *at::cuda::getDeviceProperties(index);
    device.name = properties.name;
    device.memory = to_bytes(properties.totalGlobalMem);
    device.major = properties.major;
    device.minor = properties.minor;
    at::detail::getCUDAHooks().init();
    device.free_memory = to_bytes(at::getDeviceAllocator(at::kCUDA)->getMemoryInfo(index).first);
  } catch (const c10::Error& error) {
    device.trouble = error.what_without_backtrace();
  }
  return device;
}

}  // namespace

bool built_with_cuda() { return true; }

CudaDevices find_cuda_devices() {
  CudaDevices found{.built_in = true,
                    .cuda_version = version_text(at::detail::getCUDAHooks().versionCUDART())};
  try {
    const at::DeviceIndex count = c10::cuda::device_count_ensure_non_zero();
    for (at::DeviceIndex i = 0; i < count; ++i) found.devices.push_back(ask(i));
  } catch (const c10::Error& error) {
    found.trouble = error.what_without_backtrace();
  }
  return found;
}

std::string identity_of_gpu(int index) {
  const cudaDeviceProp& properties =
      *at::cuda::getDeviceProperties(static_cast<at::DeviceIndex>(index));
  std::string identity;
  for (const char byte : properties.uuid.bytes) {
    identity += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return identity;
}

}  // namespace sheaf::comm
