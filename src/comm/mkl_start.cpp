#include "mkl_start.h"

#include <ATen/ops/mm.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>

namespace sheaf::comm {

void settle_mkl() {
  [[maybe_unused]] static const bool kOnce = [] {
    // Products and functions of elements each look for themselves.
    const at::Tensor few = at::zeros({4, 4});
    at::tanh(at::mm(few, few));
    return true;
  }();
}

}  // namespace sheaf::comm
