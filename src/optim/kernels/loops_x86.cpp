#include "cpu.h"
#include "loops.h"

namespace sheaf::optim {
namespace {

[[gnu::target("avx512f")]] void adam_avx512(const Elements& all,
                                            const AdamFactors<double>& by,
                                            Part part) {
  adam_part(all, by, part);
}

[[gnu::target("avx512f")]] void sgd_avx512(const Elements& all,
                                           const SgdFactors<double>& by,
                                           Part part) {
  sgd_part(all, by, part);
}

[[gnu::target("avx2")]] void adam_avx2(const Elements& all,
                                       const AdamFactors<double>& by,
                                       Part part) {
  adam_part(all, by, part);
}

[[gnu::target("avx2")]] void sgd_avx2(const Elements& all,
                                      const SgdFactors<double>& by,
                                      Part part) {
  sgd_part(all, by, part);
}

void adam_sse2(const Elements& all, const AdamFactors<double>& by, Part part) {
  adam_part(all, by, part);
}

void sgd_sse2(const Elements& all, const SgdFactors<double>& by, Part part) {
  sgd_part(all, by, part);
}

}  // namespace

std::vector<CpuKernels> cpu_kernels() {
  std::vector<CpuKernels> found;
  if (__builtin_cpu_supports("avx512f")) found.push_back({"avx512f", adam_avx512, sgd_avx512});
  if (__builtin_cpu_supports("avx2")) found.push_back({"avx2", adam_avx2, sgd_avx2});
  found.push_back({"sse2", adam_sse2, sgd_sse2});
  return found;
}

}  // namespace sheaf::optim
