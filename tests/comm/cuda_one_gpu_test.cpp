// Processes that exchange data inside one GPU; skipped where there is none. The parent must not
// touch CUDA before it forks.
#include <ATen/ATen.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <numeric>

#include "gpu/gpu_watch.h"
#include "support/on_ranks.h"

namespace sheaf::comm {
namespace {

using sheaf::testing::require;
using sheaf::testing::require_equal;
using ::testing::HasSubstr;

// One element, an odd number, more than is added up at once, and several turns of the slots.
constexpr std::array<std::int64_t, 4> kSizes{1, 4099, 300'007, 17'000'003};

/// Tells whether this process has used CUDA, without using it: asking LibTorch would.
bool has_used_cuda() {
  for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(file, gone);
    if (target.string().starts_with("/dev/nvidia")) return true;
  }
  return false;
}

class OneGpu : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "no GPU here";
    if (has_used_cuda()) {
      GTEST_SKIP() << "this process has used CUDA, so it cannot fork ranks: run *OneGpu* by itself";
    }
  }

  static std::vector<RankOutcome> run(int num_ranks,
                                      const std::function<void(Group)>& body,
                                      Seconds timeout = Seconds(60)) {
    return run_ranks_forked(
        num_ranks,
        body,
        {.backend = BackendKind::one_gpu, .device = DeviceKind::cuda, .timeout = timeout});
  }
  /// Runs `body` on every rank for every size and type.
  static void run_everywhere(const std::function<void(Group, std::int64_t, at::ScalarType)>& body) {
    const auto outcomes = run(GetParam(), [&](const Group& group) {
      for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf, at::kLong}) {
        for (const std::int64_t size : kSizes) body(group, size, dtype);
      }
    });
    for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.error, "");
  }
  /// Small whole numbers, so that sums are exact in every type.
  static at::Tensor values(std::int64_t size, int rank, at::ScalarType dtype = at::kFloat) {
    return (at::arange(size, at::kCUDA).remainder(7).add(1) * (rank + 1)).to(dtype);
  }
  static at::Tensor sum(std::int64_t size, int ranks, at::ScalarType dtype = at::kFloat) {
    return (at::arange(size, at::kCUDA).remainder(7).add(1) * (ranks * (ranks + 1) / 2)).to(dtype);
  }
};

TEST_P(OneGpu, AllReduceSumsScalesAndCompares) {
  run_everywhere([](const Group& group, std::int64_t size, at::ScalarType dtype) {
    const at::Tensor tensor = values(size, group.rank(), dtype);
    group.all_reduce(tensor).wait();
    require_equal(tensor, sum(size, group.size(), dtype), "sum");
    const at::Tensor largest = values(size, group.rank(), dtype);
    group.all_reduce(largest, {.reduction = Reduction::max}).wait();
    require_equal(largest, values(size, group.size() - 1, dtype), "maximum");
    const at::Tensor smallest = values(size, group.rank(), dtype);
    group.all_reduce(smallest, {.reduction = Reduction::min}).wait();
    require_equal(smallest, values(size, 0, dtype), "minimum");
    if (dtype == at::kLong) return;
    const at::Tensor scaled = values(size, group.rank(), dtype);
    group.all_reduce(scaled, {.scale = 0.5}).wait();
    require_equal(scaled, sum(size, group.size(), dtype) * 0.5, "scaled sum");
    const at::Tensor average = values(size, group.rank(), dtype);
    group.all_reduce(average, {.reduction = Reduction::average}).wait();
    require_equal(average, sum(size, group.size(), dtype).div(group.size()), "average");
  });
}

TEST_P(OneGpu, AllGatherJoinsInRankOrderAndInPlace) {
  run_everywhere([](const Group& group, std::int64_t size, at::ScalarType dtype) {
    const auto options = at::TensorOptions(at::kCUDA).dtype(dtype);
    const at::Tensor output = at::full({group.size(), size}, -1, options);
    group.all_gather(output, values(size, group.rank(), dtype)).wait();
    for (int r = 0; r < group.size(); ++r) require_equal(output[r], values(size, r, dtype), "part");
    const at::Tensor own = at::full({group.size(), size}, -1, options);
    own[group.rank()].copy_(values(size, group.rank(), dtype));
    group.all_gather(own, own[group.rank()]).wait();
    require_equal(own, output, "in place");
  });
}

TEST_P(OneGpu, ReduceScatterLeavesTheOwnPart) {
  run_everywhere([](const Group& group, std::int64_t size, at::ScalarType dtype) {
    const at::Tensor input = values(size * group.size(), group.rank(), dtype);
    const at::Tensor before = input.clone();
    const at::Tensor output = at::empty({size}, input.options());
    const at::Tensor expected =
        sum(size * group.size(), group.size(), dtype).narrow(0, group.rank() * size, size);
    group.reduce_scatter(output, input).wait();
    require_equal(output, expected, "part");
    require_equal(input, before, "input is untouched");
    const at::Tensor own = input.narrow(0, group.rank() * size, size);
    group.reduce_scatter(own, input).wait();
    require_equal(own, expected, "in place");
  });
}

TEST_P(OneGpu, BroadcastCopiesFromEveryRoot) {
  run_everywhere([](const Group& group, std::int64_t size, at::ScalarType dtype) {
    for (int root = 0; root < group.size(); ++root) {
      const at::Tensor tensor = values(size, group.rank(), dtype);
      group.broadcast(tensor, root).wait();
      require_equal(tensor, values(size, root, dtype), "from root");
    }
  });
}

TEST_P(OneGpu, AllToAllSwapsUnequalParts) {
  run_everywhere([](const Group& group, std::int64_t size, at::ScalarType dtype) {
    // Rank i sends (i + 1) * size / 4 + j elements to rank j.
    const auto run_of = [&](int from, int to) { return (from + 1) * size / 4 + to; };
    AllToAllOptions options;
    std::vector<at::Tensor> sent;
    std::vector<at::Tensor> expected;
    for (int r = 0; r < group.size(); ++r) {
      options.input_splits.push_back(run_of(group.rank(), r));
      options.output_splits.push_back(run_of(r, group.rank()));
      sent.push_back(values(run_of(group.rank(), r), group.rank(), dtype));
      expected.push_back(values(run_of(r, group.rank()), r, dtype));
    }
    const at::Tensor wanted = at::cat(expected);
    const at::Tensor output = at::full_like(wanted, -1);
    group.all_to_all(output, at::cat(sent), options).wait();
    require_equal(output, wanted, "all_to_all");
  });
}

TEST_P(OneGpu, MessagesArriveInOrder) {
  if (GetParam() == 1) GTEST_SKIP() << "one rank has nobody to talk to";
  const auto outcomes = run(GetParam(), [](const Group& group) {
    const int next = (group.rank() + 1) % group.size();
    const int before = (group.rank() + group.size() - 1) % group.size();
    for (const std::int64_t size : {1, 1000, 200'000}) {
      const at::Tensor received = at::empty({size}, at::kCUDA);
      group.send(values(size, group.rank()), next).wait();
      group.recv(received, before).wait();
      require_equal(received, values(size, before), "ring");
    }
    // Longer than a channel: the sender's stream waits for its receiver.
    constexpr std::int64_t kLong = 3'000'001;
    const at::Tensor received = at::empty({kLong}, at::kCUDA);
    if (group.rank() == 0) group.send(values(kLong, 0), 1).wait();
    if (group.rank() == 1) group.recv(received, 0).wait();
    if (group.rank() == 1) require_equal(received, values(kLong, 0), "long message");
  });
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.error, "");
}

TEST_P(OneGpu, CallsOnSeveralStreamsKeepTheirOrder) {
  const auto outcomes = run(GetParam(), [](const Group& group) {
    const c10::impl::VirtualGuardImpl cuda(at::kCUDA);
    const at::Device device(at::kCUDA, 0);
    const std::array streams{cuda.getStreamFromGlobalPool(device, true),
                             cuda.getStreamFromGlobalPool(device, false)};
    constexpr std::int64_t kSize = 100'003;
    std::vector<at::Tensor> tensors;
    for (int i = 0; i < 20; ++i) {
      const c10::StreamGuard guard(streams[static_cast<std::size_t>(i % 2)]);
      tensors.push_back(values(kSize, group.rank()) + i);
      group.all_reduce(tensors.back()).wait();
    }
    cuda.synchronizeDevice(0);
    for (int i = 0; i < 20; ++i) {
      require_equal(tensors[static_cast<std::size_t>(i)],
                    sum(kSize, group.size()) + i * group.size(),
                    "call " + std::to_string(i));
    }
  });
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.error, "");
}

TEST_P(OneGpu, PartsOfAGroupWorkBesideIt) {
  const auto outcomes = run(GetParam(), [](const Group& group) {
    const Group part = group.split(group.rank() % 2);
    const at::Tensor tensor = at::full({1000}, group.rank(), at::kCUDA);
    part.all_reduce(tensor).wait();
    int expected = 0;
    for (int r = group.rank() % 2; r < group.size(); r += 2) expected += r;
    require_equal(tensor, at::full({1000}, expected, at::kCUDA), "sum over a part");
    group.all_reduce(tensor, {.reduction = Reduction::max}).wait();
    group.barrier().wait();
  });
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.error, "");
}

INSTANTIATE_TEST_SUITE_P(Ranks, OneGpu, ::testing::Values(1, 2, 3, 4, 6), [](const auto& given) {
  return std::to_string(given.param);
});

using OneGpuPair = OneGpu;

// Rank 1 comes only after rank 0 has said that its call has returned.
TEST_F(OneGpuPair, CallsReturnBeforeThePeerHasCome) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const auto outcomes = run(2, [&](const Group& group) {
    // The first call of a size makes room for it, which takes both ranks.
    const at::Tensor warm = values(100'000, group.rank());
    group.all_reduce(warm).wait();
    char note = 'x';
    if (group.rank() == 1) require(read(ends[0], &note, 1) == 1, "a note from rank 0");
    const at::Tensor tensor = values(100'000, group.rank());
    group.all_reduce(tensor).wait();
    if (group.rank() == 0) require(write(ends[1], &note, 1) == 1, "a note to rank 1");
    require_equal(tensor, sum(100'000, 2), "sum");
  });
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.error, "");
}

TEST_F(OneGpuPair, AutomaticMeansOneGpu) {
  const auto outcomes = run_ranks_forked(
      2,
      [](const Group& group) { require(group.backend() == "one_gpu", "the backend"); },
      {.device = DeviceKind::cuda});
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.error, "");
}

// The whole memory of a rank after its first product is the product's three matrices, the slots and
// the workspace.
TEST_F(OneGpuPair, ProductsTakeLittleMemoryOfTheSharedCard) {
  const auto outcomes = run(2, [](const Group& group) {
    const at::Tensor square = at::ones({256, 256}, group.device());
    const at::Tensor product = square.mm(square);
    require(product[0][0].item<float>() == 256.0F, "the product");
    const std::int64_t most = sheaf::testing::gpu_memory_now().peak_requested;
    require(most < (std::int64_t{12} << 20), "at most 12 MiB, got " + std::to_string(most));
  });
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.error, "");
}

TEST_F(OneGpuPair, NcclIsRefusedByName) {
  const auto outcomes = run_ranks_forked(
      2, [](const Group&) {}, {.backend = BackendKind::nccl, .device = DeviceKind::cuda});
  EXPECT_THAT(outcomes[0].error, HasSubstr("one_gpu works with fewer"));
}

TEST_F(OneGpuPair, AKilledRankIsNamedAndNobodyHangs) {
  const auto outcomes = run(3, [](const Group& group) {
    const at::Tensor tensor = values(1000, group.rank());
    group.all_reduce(tensor).wait();
    if (group.rank() == 1) raise(SIGKILL);
    group.all_reduce(tensor).wait();
    static_cast<void>(tensor.sum().item<float>());  // would wait for ever
    group.all_reduce(tensor).wait();
  });
  EXPECT_EQ(outcomes[1].signal, SIGKILL);
  EXPECT_THAT(outcomes[0].error, HasSubstr("rank 1 (pid "));
  EXPECT_THAT(outcomes[0].error, HasSubstr("ended during all_reduce"));
  EXPECT_THAT(outcomes[2].error, HasSubstr("ended during all_reduce"));
}

TEST_F(OneGpuPair, ARankThatDoesNotComeIsNamed) {
  const auto outcomes = run(
      2,
      [](const Group& group) {
        const at::Tensor tensor = values(1000, group.rank());
        group.all_reduce(tensor).wait();
        const at::Tensor pids = at::empty({2}, at::TensorOptions(at::kCUDA).dtype(at::kLong));
        group.all_gather(pids, at::full({1}, getpid(), pids.options())).wait();
        const auto peer = static_cast<pid_t>(pids[1].item<std::int64_t>());
        if (group.rank() == 1) raise(SIGSTOP);
        group.all_reduce(tensor).wait();
        static_cast<void>(tensor.sum().item<float>());
        kill(peer, SIGKILL);
        group.all_reduce(tensor).wait();
      },
      Seconds(2));
  EXPECT_THAT(outcomes[0].error, HasSubstr("rank 1 (pid "));
  EXPECT_THAT(outcomes[0].error, HasSubstr("did not come to all_reduce within 2.0 s"));
}

TEST_F(OneGpuPair, RefusesTensorsOfTheCpu) {
  const auto outcomes = run(2, [](const Group& group) { group.all_reduce(at::ones({4})).wait(); });
  EXPECT_THAT(outcomes[0].error,
              HasSubstr("the one_gpu backend moves tensors on cuda:0, got one on cpu"));
}

}  // namespace
}  // namespace sheaf::comm
