// A program of its own: whether MKL has been called before belongs to a whole process.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>

#include "sheaf/comm/run_ranks.h"

namespace sheaf::comm {
namespace {

/// Calls MKL twice, as a layer does: a product, then a function of elements.
at::Tensor product_and_tanh(const at::Tensor& x) {
  return at::cat({at::addmm(x[0], x, x.t()), at::tanh(x)}).contiguous();
}

/// Has two ranks make the first calls of a process, at the same moment, and returns whether both
/// computed what later calls compute.
bool ranks_compute_alike(const at::Tensor& x) {
  constexpr int kRanks = 2;
  std::atomic<int> ready = 0;
  std::array<at::Tensor, kRanks> first;
  run_ranks(kRanks,
            [&](const Group& world) {
              ++ready;
              while (ready < kRanks) {
              }
              first.at(static_cast<std::size_t>(world.rank())) = product_and_tanh(x);
            },
            {.backend = BackendKind::shared});
  const at::Tensor later = product_and_tanh(x);
  return first[0].equal(later) && first[1].equal(later);
}

TEST(MklStart, RanksThatAreThreadsComputeTheSameFromTheirFirstCall) {
  // Without a call before them, about one pair of ranks in sixty differs.
  constexpr int kProcesses = 400;
  const at::Tensor x = at::rand({14, 14});
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(ranks_compute_alike(x) ? 0 : 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "in process " << i;
  }
}

}  // namespace
}  // namespace sheaf::comm
