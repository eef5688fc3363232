#include "cpu.h"
#include "loops.h"

namespace sheaf::optim {
namespace {

void adam_portable(const Elements& all, const AdamFactors<double>& by, Part part) {
  adam_part(all, by, part);
}

void sgd_portable(const Elements& all, const SgdFactors<double>& by, Part part) {
  sgd_part(all, by, part);
}

}  // namespace

std::vector<CpuKernels> cpu_kernels() { return {{"portable", adam_portable, sgd_portable}}; }

}  // namespace sheaf::optim
