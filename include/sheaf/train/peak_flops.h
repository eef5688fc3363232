#pragma once

#include <string>
#include <string_view>

namespace sheaf::train {

/// What a device can do at best, and how that is known.
struct PeakFlops {
  /// FLOP/s of one device; 0 when unknown.
  double flops = 0;
  std::string source;
};

/// How matrix products are computed, which decides a GPU's peak.
enum class Arithmetic { fp32, tf32, bf16, fp16, fp8 };

/// Looks a GPU up by the name its driver gives, such as "NVIDIA H100 80GB HBM3": dense tensor-core
/// rates as the maker publishes them, with sums in fp32. Unknown names, parts of a GPU (MIG) and
/// arithmetic that the GPU does not have give 0.
[[nodiscard]] PeakFlops gpu_peak(std::string_view name, Arithmetic arithmetic);

/// Measures what this process's threads reach in a large matrix product: takes about 0.2 s. With
/// several ranks on one machine all must measure at the same time, or they see cores that will not
/// be free later. fp8 gives 0; tf32 is fp32 on processors.
[[nodiscard]] PeakFlops measure_cpu_peak(Arithmetic arithmetic);

}  // namespace sheaf::train
