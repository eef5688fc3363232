#pragma once

#include <string>
#include <vector>

#include "sheaf/base/units.h"

namespace sheaf::comm {

struct CudaDevice {
  std::string name;
  Bytes memory;
  Bytes free_memory;
  /// The compute capability, such as 9 and 0.
  int major = 0;
  int minor = 0;
  /// Why the device cannot be used; empty if it can.
  std::string trouble;
};

struct CudaDevices {
  /// Whether this sheaf was built with CUDA; nothing else is known without.
  bool built_in = false;
  /// The CUDA that LibTorch was built with, such as "13.0".
  std::string cuda_version;
  std::vector<CudaDevice> devices;
  /// Why there are no devices; empty if there are some.
  std::string trouble;
};

/// Says whether this sheaf was built with CUDA, without starting it.
[[nodiscard]] bool built_with_cuda();

/// Asks every CUDA device. This starts CUDA, so children forked later cannot use it. Throws nothing
/// about devices: what is wrong with them is in the answer.
[[nodiscard]] CudaDevices find_cuda_devices();

/// Returns what tells a GPU from all others, in every process that uses it.
[[nodiscard]] std::string identity_of_gpu(int index);

}  // namespace sheaf::comm
