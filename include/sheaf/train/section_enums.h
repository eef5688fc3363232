#pragma once

#include <array>

#include "sheaf/base/options.h"
#include "sheaf/sharding/options.h"

namespace sheaf::sharding {

constexpr auto enum_names(Wake) {
  return std::array{EnumName{"automatic", Wake::automatic},
                    EnumName{"touch", Wake::touch},
                    EnumName{"boundary", Wake::boundary}};
}

constexpr auto enum_names(NoSync) {
  return std::array{EnumName{"keep", NoSync::keep}, EnumName{"reduce", NoSync::reduce}};
}

}  // namespace sheaf::sharding

namespace sheaf::train {

using sharding::NoSync;
using sharding::Wake;

/// How forward and backward compute: tf32 is fp32 with faster, coarser products on CUDA.
enum class Compute { fp32, tf32, bf16, fp16 };

enum class Reduce { fp32, bf16, fp16 };

/// What the optimizer steps.
enum class Master { fp32, bf16 };

enum class OptimizerKind { adamw, adam, sgd };

/// Whether steps become a CUDA graph: where they can, or else not at all, or never.
enum class GraphUse { automatic, on, off };

constexpr auto enum_names(Compute) {
  return std::array{EnumName{"fp32", Compute::fp32},
                    EnumName{"tf32", Compute::tf32},
                    EnumName{"bf16", Compute::bf16},
                    EnumName{"fp16", Compute::fp16}};
}

constexpr auto enum_names(Reduce) {
  return std::array{EnumName{"fp32", Reduce::fp32},
                    EnumName{"bf16", Reduce::bf16},
                    EnumName{"fp16", Reduce::fp16}};
}

constexpr auto enum_names(Master) {
  return std::array{EnumName{"fp32", Master::fp32}, EnumName{"bf16", Master::bf16}};
}

constexpr auto enum_names(GraphUse) {
  return std::array{EnumName{"auto", GraphUse::automatic},
                    EnumName{"on", GraphUse::on},
                    EnumName{"off", GraphUse::off}};
}

constexpr auto enum_names(OptimizerKind) {
  return std::array{EnumName{"adamw", OptimizerKind::adamw},
                    EnumName{"adam", OptimizerKind::adam},
                    EnumName{"sgd", OptimizerKind::sgd}};
}

}  // namespace sheaf::train
