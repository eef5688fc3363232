// How fast are the collectives, and what does the Group handle itself cost?
//
//   build/bench/collectives [ranks]     four processes by default
//
// The same run times LibTorch's gloo called directly, sheaf over gloo, sheaf over shared memory,
// and sheaf with tensors that lie in shared memory.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "cli/collectives/measure.h"
#include "comm/compat.h"
#include "comm/world.h"
#include "outcomes.h"
#include "sheaf/base/table.h"
#include "sheaf/comm/run_ranks.h"

namespace {

using sheaf::Bytes;
using sheaf::Seconds;
using sheaf::comm::Group;
using sheaf::comm::Kind;

constexpr Seconds kTimeout{300};
constexpr int kRounds = 3;
constexpr int kRepeats = 11;
constexpr int kSmallCalls = 300;

/// LibTorch's gloo without anything of sheaf around it.
class Direct {
 public:
  Direct(const c10::intrusive_ptr<c10d::Store>& store, const Group& group)
      : gloo_(sheaf::comm::compat::gloo(
            {.store = store, .rank = group.rank(), .size = group.size(), .timeout = kTimeout},
            "127.0.0.1")),
        rank_(group.rank()),
        size_(group.size()) {}

  std::function<void()> call(Kind kind, Bytes size) {
    const std::int64_t part = std::max<std::int64_t>(1, size.count / 4 / size_);
    at::Tensor whole = at::ones({part * size_});
    at::Tensor own = whole.narrow(0, part * rank_, part);
    std::vector<at::Tensor> list = {whole};
    switch (kind) {
      case Kind::all_gather:
        return [=, this]() mutable { gloo_->_allgather_base(whole, own)->wait(); };
      case Kind::reduce_scatter:
        return [=, this]() mutable { gloo_->_reduce_scatter_base(own, whole)->wait(); };
      case Kind::broadcast:
        return [=, this]() mutable { gloo_->broadcast(list)->wait(); };
      default:
        return [=, this]() mutable { gloo_->allreduce(list)->wait(); };
    }
  }

 private:
  c10::intrusive_ptr<c10d::Backend> gloo_;
  int rank_;
  int size_;
};

std::string ratio(Seconds slow, Seconds fast) { return fmt::format("{:.1f}x", slow / fast); }

struct Contestants {
  Contestants(const Group& group, const std::string& folder)
      : store(sheaf::comm::compat::file_store(folder + "/store", group.size(), kTimeout)),
        gloo(sheaf::comm::form_world({.rank = group.rank(), .size = group.size()},
                                     store,
                                     {.backend = sheaf::comm::BackendKind::gloo})),
        direct(sheaf::comm::compat::prefixed("direct", store), group) {}

  c10::intrusive_ptr<c10d::Store> store;
  Group gloo;
  Direct direct;
};

void compare_large(const Group& shared, const std::string& folder) {
  auto [store, gloo, direct] = Contestants(shared, folder);
  const Bytes size = sheaf::mebibytes(64);
  sheaf::Table table({"collective",
                      "c10d gloo",
                      "sheaf gloo",
                      "shared",
                      "shared tensors",
                      "shared / c10d",
                      "tensors / c10d"});
  for (const Kind kind : sheaf::cli::measured_kinds()) {
    const Seconds plain =
        sheaf::cli::measure(shared, {.repeats = kRepeats, .call = direct.call(kind, size)});
    const Seconds over_gloo = sheaf::cli::measure(gloo, kind, {.size = size, .repeats = kRepeats});
    const Seconds over_memory =
        sheaf::cli::measure(shared, kind, {.size = size, .repeats = kRepeats});
    const Seconds on_tensors = sheaf::cli::measure(
        shared, kind, {.size = size, .repeats = kRepeats, .shared_tensors = true});
    table.add({std::string(name(kind)),
               sheaf::to_string(plain),
               sheaf::to_string(over_gloo),
               sheaf::to_string(over_memory),
               sheaf::to_string(on_tensors),
               ratio(plain, over_memory),
               ratio(plain, on_tensors)});
  }
  if (shared.rank() == 0)
    std::cout << sheaf::to_string(size) << ", fp32\n" << table.str() << std::endl;
}

/// Returns the time of one call out of many in a row, in microseconds.
double microseconds_per_call(const Group& group, const std::function<void()>& call) {
  const auto many = [&] {
    for (int i = 0; i < kSmallCalls; ++i) call();
  };
  const Seconds all = sheaf::cli::measure(group, {.repeats = 5, .call = many});
  return all.count() / kSmallCalls * 1e6;
}

std::function<void()> small_call(const Group& group, Kind kind) {
  const at::Tensor tensor = at::ones({1});
  if (kind == Kind::all_gather) {
    const at::Tensor output = at::ones({group.size()});
    return [=] { group.all_gather(output, tensor).wait(); };
  }
  if (kind == Kind::broadcast) return [=] { group.broadcast(tensor, 0).wait(); };
  return [=] { group.all_reduce(tensor).wait(); };
}

void compare_small(const Group& shared, const std::string& folder) {
  auto [store, gloo, direct] = Contestants(shared, folder);
  sheaf::Table table({"collective", "c10d gloo, us", "sheaf gloo, us", "shared, us"});
  for (const Kind kind : {Kind::all_reduce, Kind::broadcast}) {
    const double plain = microseconds_per_call(shared, direct.call(kind, Bytes{4}));
    const double over_gloo = microseconds_per_call(shared, small_call(gloo, kind));
    const double over_memory = microseconds_per_call(shared, small_call(shared, kind));
    table.add({std::string(name(kind)),
               fmt::format("{:.1f}", plain),
               fmt::format("{:.1f}", over_gloo),
               fmt::format("{:.1f}", over_memory)});
  }
  if (shared.rank() == 0) {
    std::cout << "4 bytes, mean of " << kSmallCalls << " calls\n" << table.str() << std::endl;
  }
}

/// Returns what `clock` says, in microseconds.
double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

struct Cost {
  double wall = 0;
  /// Processor time of all threads of this process.
  double processor = 0;
};

Cost cost_of(const std::function<void()>& call) {
  constexpr int kCalls = 20'000;
  const Cost before{now(CLOCK_MONOTONIC), now(CLOCK_PROCESS_CPUTIME_ID)};
  for (int i = 0; i < kCalls; ++i) call();
  return {(now(CLOCK_MONOTONIC) - before.wall) / kCalls,
          (now(CLOCK_PROCESS_CPUTIME_ID) - before.processor) / kCalls};
}

/// What a call costs beyond gloo itself, with one rank, where gloo has nothing to wait for. Wall
/// time jumps by 20 us and more with the cores that gloo's threads wake on, for either column;
/// processor time is steadier, and "fake" is the handle with nothing behind it.
void handle_cost() {
  const Group gloo = sheaf::comm::init({.backend = sheaf::comm::BackendKind::gloo});
  const Group fake = sheaf::comm::fake_group(4);
  Direct direct(sheaf::comm::compat::memory_store(kTimeout), gloo);
  sheaf::Table table(
      {"collective", "wall: c10d", "sheaf", "fake", "processor: c10d", "sheaf", "handle costs"});
  for (const Kind kind : {Kind::all_reduce, Kind::all_gather, Kind::broadcast}) {
    const Cost plain = cost_of(direct.call(kind, Bytes{4}));
    const Cost ours = cost_of(small_call(gloo, kind));
    const Cost nothing = cost_of(small_call(fake, kind));
    const auto text = [](double time) { return fmt::format("{:.1f} us", time); };
    table.add({std::string(name(kind)),
               text(plain.wall),
               text(ours.wall),
               text(nothing.wall),
               text(plain.processor),
               text(ours.processor),
               text(ours.processor - plain.processor)});
  }
  std::cout << "one rank, 4 bytes, per call\n" << table.str() << std::endl;
}

/// Runs `body` on fresh processes; tells whether all went well.
bool run(int ranks, const std::function<void(const Group&, const std::string&)>& body) {
  std::string folder = (std::filesystem::temp_directory_path() / "sheaf-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return false;
  const auto outcomes =
      sheaf::comm::run_ranks_forked(ranks, [&](const Group& group) { body(group, folder); });
  std::filesystem::remove_all(folder);
  return sheaf::bench::all_went_well(outcomes);
}
}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 4;
  std::cout << ranks << " processes\n\n" << std::flush;
  // Fresh processes each time: where the system puts them matters more than anything else.
  for (int round = 0; round < kRounds; ++round) {
    if (!run(ranks, compare_large)) return 1;
  }
  if (!run(ranks, compare_small)) return 1;
  handle_cost();
  return 0;
}
