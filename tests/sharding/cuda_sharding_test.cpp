// The same engine on a GPU: streams and events in place of a communication thread. Ranks are
// processes that share the GPU; each start of them plays several roles.
#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/roles.h"

namespace sheaf::testing {
namespace {

class RanksOnCuda : public ::testing::TestWithParam<Cast> {
 protected:
  void SetUp() override {
    if (const auto reason = why_no_ranks(GetParam())) GTEST_SKIP() << *reason;
  }
};

TEST_P(RanksOnCuda, PlayTheirRoles) { play(GetParam()); }

// NCCL takes one rank per GPU.
const std::vector<Cast> kCasts{
    {"parity,trials,in_backward,mixed_precision,trainer,step,no_waiting,long_run", 1, "nccl"},
    {"parity", 1, "gloo"},
    {"parity,trials,mixed_precision,trainer", 2, "gloo"},
    {"parity", 4, "gloo"},
    {"parity", 1, "one_gpu"},
    {"parity,trials,in_backward,mixed_precision,trainer,step,no_waiting,long_run", 2, "one_gpu"},
    {"parity,trials,mixed_precision,trainer,step,no_waiting", 4, "one_gpu"},
    {"parity,no_waiting", 2, "one_gpu", "off"},
};

INSTANTIATE_TEST_SUITE_P(All, RanksOnCuda, ::testing::ValuesIn(kCasts), [](const auto& given) {
  const Cast& cast = given.param;
  return cast.backend + "_" + std::to_string(cast.ranks) +
         (cast.mps == "off" ? "_without_mps" : "");
});

}  // namespace
}  // namespace sheaf::testing
