#include "arithmetic_of.h"

namespace sheaf::train {

Arithmetic arithmetic_of(Compute compute) {
  switch (compute) {
    case Compute::tf32:
      return Arithmetic::tf32;
    case Compute::bf16:
      return Arithmetic::bf16;
    case Compute::fp16:
      return Arithmetic::fp16;
    case Compute::fp32:
      break;
  }
  return Arithmetic::fp32;
}

}  // namespace sheaf::train
