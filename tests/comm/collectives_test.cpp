// Every collective x {gloo, shared by threads, shared by processes} x {fp32, bf16} x {1, 2, 3, 4
// ranks}. Values are small whole numbers, so sums are exact in bf16 too and everything is compared
// bit for bit.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <numeric>
#include <tuple>

#include "support/on_ranks.h"

namespace sheaf {
namespace {

using comm::Group;
using testing::require_equal;
using testing::Way;

// One element, fewer than ranks, an odd number over a page, and enough for several turns of the
// slots.
constexpr std::int64_t kSizes[] = {1, 3, 4099, 300'007};

class Collectives : public ::testing::TestWithParam<std::tuple<Way, at::ScalarType, int>> {
 protected:
  static at::ScalarType dtype() { return std::get<1>(GetParam()); }
  static int num_ranks() { return std::get<2>(GetParam()); }
  static void on_each(const std::function<void(Group, std::int64_t)>& body) {
    testing::on_ranks(std::get<0>(GetParam()), num_ranks(), [&](Group group) {
      for (const std::int64_t size : kSizes) body(group, size);
    });
  }
  /// What rank `rank` brings: different for every rank and element, at most 7 * ranks.
  static at::Tensor values(std::int64_t size, int rank) {
    return (at::arange(size).remainder(7).add(1) * (rank + 1)).to(dtype());
  }
  /// The sum of `values` over ranks.
  static at::Tensor sum(std::int64_t size) {
    const int n = num_ranks();
    return (at::arange(size).remainder(7).add(1) * (n * (n + 1) / 2)).to(dtype());
  }
};

TEST_P(Collectives, AllReduceSums) {
  on_each([](const Group& group, std::int64_t size) {
    const at::Tensor tensor = values(size, group.rank());
    group.all_reduce(tensor).wait();
    require_equal(tensor, sum(size), "sum");
  });
}

TEST_P(Collectives, AllReduceAverages) {
  on_each([](const Group& group, std::int64_t size) {
    const at::Tensor tensor = values(size, group.rank());
    group.all_reduce(tensor, {.reduction = comm::Reduction::average}).wait();
    require_equal(tensor, sum(size).div(group.size()), "average");
  });
}

TEST_P(Collectives, AllReduceTakesMaximumAndMinimum) {
  on_each([](const Group& group, std::int64_t size) {
    const at::Tensor largest = values(size, group.rank());
    const at::Tensor smallest = values(size, group.rank());
    group.all_reduce(largest, {.reduction = comm::Reduction::max}).wait();
    group.all_reduce(smallest, {.reduction = comm::Reduction::min}).wait();
    require_equal(largest, values(size, group.size() - 1), "maximum");
    require_equal(smallest, values(size, 0), "minimum");
  });
}

TEST_P(Collectives, AllReduceScalesBeforeItSums) {
  on_each([](const Group& group, std::int64_t size) {
    const at::Tensor tensor = values(size, group.rank());
    group.all_reduce(tensor, {.scale = 0.5}).wait();
    require_equal(tensor, sum(size).mul(0.5), "scaled sum");
  });
}

TEST_P(Collectives, AllGatherJoinsInRankOrder) {
  on_each([](const Group& group, std::int64_t size) {
    const at::Tensor output = at::empty({group.size(), size}, dtype());
    group.all_gather(output, values(size, group.rank())).wait();
    for (int r = 0; r < group.size(); ++r) require_equal(output[r], values(size, r), "part");
  });
}

TEST_P(Collectives, AllGatherWorksInPlace) {
  on_each([](const Group& group, std::int64_t size) {
    const at::Tensor output = at::full({group.size(), size}, -1, dtype());
    output[group.rank()].copy_(values(size, group.rank()));
    group.all_gather(output, output[group.rank()]).wait();
    for (int r = 0; r < group.size(); ++r) require_equal(output[r], values(size, r), "part");
  });
}

TEST_P(Collectives, ReduceScatterLeavesTheOwnPart) {
  on_each([](const Group& group, std::int64_t size) {
    const at::Tensor input = values(size * group.size(), group.rank());
    const at::Tensor before = input.clone();
    const at::Tensor output = at::empty({size}, dtype());
    group.reduce_scatter(output, input).wait();
    require_equal(output, sum(size * group.size()).narrow(0, group.rank() * size, size), "part");
    require_equal(input, before, "input is untouched");
  });
}

TEST_P(Collectives, ReduceScatterWorksInPlace) {
  on_each([](const Group& group, std::int64_t size) {
    const at::Tensor input = values(size * group.size(), group.rank());
    const at::Tensor own = input.narrow(0, group.rank() * size, size);
    group.reduce_scatter(own, input, {.reduction = comm::Reduction::average}).wait();
    require_equal(own,
                  sum(size * group.size()).narrow(0, group.rank() * size, size).div(group.size()),
                  "part");
  });
}

TEST_P(Collectives, BroadcastCopiesFromEveryRoot) {
  on_each([](const Group& group, std::int64_t size) {
    for (int root = 0; root < group.size(); ++root) {
      const at::Tensor tensor = values(size, group.rank());
      group.broadcast(tensor, root).wait();
      require_equal(tensor, values(size, root), "from root");
    }
  });
}

TEST_P(Collectives, AllToAllSwapsEqualParts) {
  on_each([](const Group& group, std::int64_t size) {
    const at::Tensor input = values(size * group.size(), group.rank());
    const at::Tensor output = at::empty({group.size(), size}, dtype());
    group.all_to_all(output, input).wait();
    for (int r = 0; r < group.size(); ++r) {
      require_equal(output[r],
                    values(size * group.size(), r).narrow(0, group.rank() * size, size),
                    "from rank");
    }
  });
}

TEST_P(Collectives, AllToAllSwapsUnequalParts) {
  on_each([](const Group& group, std::int64_t size) {
    // Rank i sends i * size + j elements to rank j.
    std::vector<std::int64_t> sent;
    std::vector<std::int64_t> received;
    for (int r = 0; r < group.size(); ++r) {
      sent.push_back(group.rank() * size + r);
      received.push_back(r * size + group.rank());
    }
    const auto total = [](const std::vector<std::int64_t>& parts) {
      return std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
    };
    const at::Tensor input = at::full({total(sent)}, group.rank() + 1, dtype());
    const at::Tensor output = at::empty({total(received)}, dtype());
    group.all_to_all(output, input, {.input_splits = sent, .output_splits = received}).wait();
    std::int64_t begin = 0;
    for (int r = 0; r < group.size(); ++r) {
      const std::int64_t count = received[static_cast<std::size_t>(r)];
      require_equal(output.narrow(0, begin, count), at::full({count}, r + 1, dtype()), "from rank");
      begin += count;
    }
  });
}

TEST_P(Collectives, MessagesPassAroundARing) {
  on_each([](const Group& group, std::int64_t size) {
    if (group.size() == 1) return;
    const int next = (group.rank() + 1) % group.size();
    const int previous = (group.rank() + group.size() - 1) % group.size();
    const at::Tensor received = at::empty({size}, dtype());
    comm::Work sending = group.send(values(size, group.rank()), next, {.tag = 7});
    comm::Work receiving = group.recv(received, previous, {.tag = 7});
    sending.wait();
    receiving.wait();
    require_equal(received, values(size, previous), "from the left");
  });
}

TEST_P(Collectives, CallsInFlightKeepTheirOrder) {
  on_each([](const Group& group, std::int64_t size) {
    const at::Tensor tensor = values(size, group.rank());
    std::vector<comm::Work> works;
    for (int i = 0; i < 3; ++i)
      works.push_back(group.all_reduce(tensor, {.reduction = comm::Reduction::max}));
    works.push_back(group.all_reduce(tensor));
    for (auto& work : works) work.wait();
    require_equal(tensor, values(size, group.size() - 1).mul(group.size()), "max, then sum");
  });
}

TEST_P(Collectives, BarrierReturnsOnEveryRank) {
  on_each([](const Group& group, std::int64_t) { group.barrier().wait(); });
}

TEST_P(Collectives, SharedTensorsGiveTheSameBits) {
  on_each([](const Group& group, std::int64_t size) {
    const int n = group.size();
    const at::Tensor tensor = group.shared_empty(size * n, dtype());
    tensor.copy_(values(size * n, group.rank()));
    const at::Tensor part = at::empty({size}, dtype());
    group.reduce_scatter(part, tensor).wait();
    require_equal(part, sum(size * n).narrow(0, group.rank() * size, size), "reduce_scatter");
    group.all_reduce(tensor).wait();
    require_equal(tensor, sum(size * n), "all_reduce");
    tensor.narrow(0, group.rank() * size, size).copy_(values(size, group.rank()));
    group.all_gather(tensor, tensor.narrow(0, group.rank() * size, size)).wait();
    for (int r = 0; r < n; ++r)
      require_equal(tensor.narrow(0, r * size, size), values(size, r), "all_gather");
    group.broadcast(tensor, n - 1).wait();
  });
}

std::string parameter_name(const ::testing::TestParamInfo<Collectives::ParamType>& info) {
  const auto [way, dtype, ranks] = info.param;
  return testing::name(way) + (dtype == at::kFloat ? "_fp32_" : "_bf16_") + std::to_string(ranks);
}

INSTANTIATE_TEST_SUITE_P(
    All,
    Collectives,
    ::testing::Combine(::testing::Values(Way::gloo, Way::shared_threads, Way::shared_processes),
                       ::testing::Values(at::kFloat, at::kBFloat16),
                       ::testing::Values(1, 2, 3, 4)),
    parameter_name);

}  // namespace
}  // namespace sheaf
