#include "rotary_rows_cuda.h"

namespace sheaf::nn {

bool rotate_on_cuda(const at::Tensor&, const at::Tensor&, const RotaryAngles&) { return false; }

}  // namespace sheaf::nn
