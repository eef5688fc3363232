// What do fingerprints and the watchdog cost?
//
//   build/bench/watchdog
//
// First what writing down and comparing one call costs, with 2 to 64 ranks on a host. Then how many
// calls a step has, and how long it takes, in a small run of two processes: their product is the
// share of a step. Last how much of a core the watchdog's thread takes while it looks on.
#include <fmt/format.h>
#include <time.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "comm/watch/join.h"
#include "median.h"
#include "outcomes.h"
#include "run_program.h"
#include "sheaf/comm/run_ranks.h"
#include "sheaf/train/trainer.h"

namespace {

using Clock = std::chrono::steady_clock;
using sheaf::Seconds;
using sheaf::comm::Board;
using sheaf::comm::CallRecord;
using sheaf::comm::GroupLog;
namespace comm = sheaf::comm;
namespace train = sheaf::train;

constexpr int kRounds = 9;
constexpr int kCalls = 5'000;
constexpr int kSteps = 60;

comm::Members members_of(int rank, int ranks) {
  comm::Members members{.rank = rank, .world_ranks = {}};
  for (int r = 0; r < ranks; ++r) members.world_ranks.push_back(r);
  return members;
}

/// Returns nanoseconds of one rank's part in one call: all ranks of a host take turns here, so that
/// everybody finds the fingerprints of all others.
double cost_of_a_call(int ranks) {
  const std::shared_ptr<Board> board = comm::thread_board(ranks);
  std::vector<std::unique_ptr<GroupLog>> logs;
  for (int r = 0; r < ranks; ++r) {
    logs.push_back(std::make_unique<GroupLog>(members_of(r, ranks), "world", board));
  }
  CallRecord call;
  call.bytes = 4096;
  call.unit = comm::short_name("transformer.h.11");
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    const Clock::time_point began = Clock::now();
    for (int i = 0; i < kCalls; ++i) {
      for (const auto& log : logs) {
        const std::uint64_t number = log->begin(call);
        if (log->disagreement(GroupLog::Range::near)) throw sheaf::Error("equal calls differ");
        log->end(number, comm::CallState::done);
      }
    }
    const std::chrono::duration<double, std::nano> all = Clock::now() - began;
    rounds.push_back(all.count() / kCalls / ranks);
  }
  return sheaf::bench::median(rounds);
}

/// Keeps what the last steps took.
class Steps final : public train::Sink {
 public:
  void start(const train::RunInfo&) override {}
  void step(const train::StepRecord& step, const train::Progress&) override {
    if (step.step <= kSteps / 2) return;
    time += step.time;
    ++count;
    calls = 0;
    for (const auto& use : step.collectives) calls += use.exchanged.calls;
  }
  void evaluation(const train::EvaluationRecord&) override {}
  void sample(std::int64_t, const std::string&) override {}
  void end(const train::Summary&) override {}

  Seconds time{0};
  int count = 0;
  std::int64_t calls = 0;
};

train::RunOptions small_run(const std::string& stage) {
  train::RunOptions options;
  options.model.preset = "gpt2-tiny";
  options.data.source = sheaf::data::Source::random;
  options.shard.stage = stage;
  options.batch.global = 8;
  options.train.steps = kSteps;
  options.train.evaluate = false;
  options.train.sample_tokens = 0;
  return options;
}

void print_share(const std::string& stage, double nanoseconds) {
  const auto outcomes = comm::run_ranks_forked(2, [&](const comm::Group& world) {
    const auto steps = std::make_shared<Steps>();
    static_cast<void>(train::run(small_run(stage), world, {.sinks = {steps}}));
    if (world.rank() != 0) return;
    const double step = steps->time.count() / steps->count;
    std::cout << fmt::format("{}: {} calls x {:.0f} ns = {:.1f} us, {:.4f} % of a step of {}\n",
                             stage,
                             steps->calls,
                             nanoseconds,
                             static_cast<double>(steps->calls) * nanoseconds / 1e3,
                             static_cast<double>(steps->calls) * nanoseconds / 1e9 / step * 100,
                             sheaf::to_string(Seconds(step)))
              << std::flush;
  });
  if (!sheaf::bench::all_went_well(outcomes)) throw sheaf::Error("a rank failed");
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

/// Returns the share of a core that a watchdog takes while its rank waits in a call.
double share_of_the_watch() {
  const std::shared_ptr<Board> board = comm::thread_board(2);
  const comm::Lookout lookout = comm::lookout_of_thread(board,
                                                        {.peers = std::make_shared<comm::Peers>(2),
                                                         .store = {},
                                                         .rank = 0,
                                                         .watch = {.timeout = Seconds(600)}});
  GroupLog log(members_of(0, 2), "world", board);
  lookout.watch->add({.log = &log, .stream_ordered = false, .let_go = [] {}});
  for (std::size_t i = 0; i < comm::kRememberedCalls; ++i) log.begin({});
  const double began = cpu_seconds();
  constexpr std::chrono::seconds kTime{5};
  std::this_thread::sleep_for(kTime);
  const double used = cpu_seconds() - began;
  lookout.watch->remove(log);
  return used / static_cast<double>(kTime.count());
}

void run() {
  for (const int ranks : {2, 8, 64}) {
    std::cout << fmt::format(
        "{} ranks on a host: {:.0f} ns a call\n", ranks, cost_of_a_call(ranks));
  }
  const double nanoseconds = cost_of_a_call(2);
  for (const char* stage : {"ddp", "zero2", "zero3"}) print_share(stage, nanoseconds);
  std::cout << fmt::format("the watchdog's thread: {:.4f} % of a core\n",
                           share_of_the_watch() * 100);
}

}  // namespace

int main(int argc, char** argv) {
  return sheaf::bench::run_program(
      argc,
      argv,
      "what fingerprints and the watchdog cost",
      [](sheaf::cli::OptionSet&) {},
      [] {
        run();
        return 0;
      });
}
