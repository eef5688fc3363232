// How long do the other ranks wait for one that was killed?
//
//   build/bench/dead_peer [kills]
//
// Two processes over shared memory; one kills itself while the other waits for it in an all-reduce.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <vector>

#include "median.h"
#include "sheaf/base/error.h"
#include "sheaf/comm/run_ranks.h"

namespace {

using Clock = std::chrono::steady_clock;

/// Rank 1 leaves the time of its death here, for rank 0.
void die(const sheaf::comm::Group& group) {
  const at::Tensor now = at::full({1}, Clock::now().time_since_epoch().count(), at::kLong);
  group.send(now, 0).wait();
  raise(SIGKILL);
}

double wait_for_the_dead(const sheaf::comm::Group& group) {
  const at::Tensor death = at::empty({1}, at::kLong);
  group.recv(death, 1).wait();
  try {
    group.all_reduce(at::ones({1})).wait();
  } catch (const sheaf::Error&) {
    const Clock::duration at(death.item<std::int64_t>());
    return std::chrono::duration<double, std::milli>(Clock::now().time_since_epoch() - at).count();
  }
  return -1;
}

/// Returns the milliseconds from the kill to the error at the survivor.
std::optional<double> one_kill() {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return std::nullopt;
  sheaf::comm::run_ranks_forked(2, [&](const sheaf::comm::Group& group) {
    if (group.rank() == 1) die(group);
    const double waited = wait_for_the_dead(group);
    [[maybe_unused]] const auto written = write(ends[1], &waited, sizeof(waited));
  });
  double waited = -1;
  close(ends[1]);
  const bool got = read(ends[0], &waited, sizeof(waited)) == sizeof(waited);
  close(ends[0]);
  return got && waited >= 0 ? std::optional(waited) : std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  const int kills = argc > 1 ? std::atoi(argv[1]) : 50;
  std::vector<double> times;
  for (int i = 0; i < kills; ++i) {
    const auto time = one_kill();
    if (!time) return 1;
    times.push_back(*time);
  }
  std::cout << fmt::format("{} kills: noticed after {:.1f} ms (median), {:.1f} ms (longest)\n",
                           kills,
                           sheaf::bench::median(times),
                           *std::max_element(times.begin(), times.end()));
  return 0;
}
