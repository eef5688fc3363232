#include "amx.h"

#include <cstdlib>

namespace sheaf {

void avoid_broken_amx() {
  constexpr const char* kLimit = "ONEDNN_MAX_CPU_ISA";
  if (std::getenv(kLimit) != nullptr || !has_broken_amx()) return;
  ::setenv(kLimit, "AVX512_CORE_FP16", /*overwrite=*/1);  // the best there is below AMX
}

}  // namespace sheaf
