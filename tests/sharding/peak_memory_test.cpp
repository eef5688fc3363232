// Less memory, as measured: a program of its own, because it counts every CPU tensor from the
// start.
//
// Ranks are processes, so that each counts itself, and they talk over gloo. Over shared memory a
// part of what they hold would be mapped between processes, which the allocator of tensors does not
// see; over gloo everything they hold is an ordinary tensor, and nothing is left out.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <thread>

#include "sharding/tower.h"
#include "sheaf/memory/cpu_usage.h"
#include "sheaf/module/deferred.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

constexpr std::array kStages{Stage::ddp, Stage::zero1, Stage::zero2, Stage::zero3};
// Parameters are nearly all that counts: a block has 256 KiB of them, its activations take 4 KiB.
const TowerOptions kTower{.blocks = 16, .width = 256};
// What is neither on the ledger nor large: activations, the order of units, small exchanges.
constexpr Bytes kSmall = kibibytes(256);

void on_processes(int num_ranks, const std::function<void(comm::Group)>& body) {
  const auto outcomes = comm::run_ranks_forked(
      num_ranks, body, {.backend = comm::BackendKind::gloo, .timeout = Seconds(60)});
  for (const auto& outcome : outcomes) {
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.exit_code, 0);
  }
}

struct Measured {
  Bytes resident;
  Bytes peak;
  Bytes ledger;
  Bytes ledger_peak;
};

/// Tells whether all other threads of this process wait for something.
bool others_sleep() {
  const std::string own = std::to_string(::gettid());
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (thread.path().filename() == own) continue;
    std::ifstream file(thread.path() / "stat");
    std::string line;
    std::getline(file, line);
    // One that is not asleep may be waiting for a core. Nothing is there of one that has ended.
    if (!line.empty() && line.find(") S ") == std::string::npos) return false;
  }
  return true;
}

/// Returns what is in use. Gloo's threads let go of tensors a moment after a call has ended, and
/// before they sleep.
std::int64_t in_use(const comm::Group& world) {
  constexpr int kCalls = 10;
  constexpr int kLooks = 1000;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int call = 0; call < kCalls; ++call) {
    world.barrier().wait();
    for (int look = 0; look < kLooks && !others_sleep(); ++look) std::this_thread::yield();
    least = std::min(least, memory::cpu_usage().current.count);
  }
  return least;
}

/// Measures the third step of a session that begins with nothing in use.
Measured measure(const comm::Group& world, Stage stage) {
  const std::int64_t start = in_use(world);
  // Exchanges go block by block also where buckets are formed by size.
  const layout::BucketOptions buckets{.cap = kibibytes(256), .first_cap = kibibytes(256)};
  Session session(kTower, {.group = world, .stage = stage, .buckets = buckets});
  session.steps(2);
  memory::Ledger ledger = session.state().ledger();
  ledger.reset_peaks();
  memory::reset_cpu_peak();
  session.step();
  const Bytes peak = memory::cpu_usage().peak;
  return {.resident = {in_use(world) - start},
          .peak = {peak.count - start},
          .ledger = ledger.current(),
          .ledger_peak = ledger.peak()};
}

std::string text(Stage stage, const Measured& measured) {
  return name_of(stage) + ": resident " + to_string(measured.resident) + ", ledger " +
         to_string(measured.ledger) + ", peak " + to_string(measured.peak) + ", ledger's peak " +
         to_string(measured.ledger_peak);
}

TEST(PeakMemory, OfAStepFallsFromStageToStage) {
  on_processes(4, [](const comm::Group& world) {
    std::string story;
    Bytes last{std::numeric_limits<std::int64_t>::max()};
    for (const Stage stage : kStages) {
      const Measured measured = measure(world, stage);
      story += text(stage, measured) + "\n";
      require(measured.peak < last, story);
      last = measured.peak;
    }
  });
}

TEST(PeakMemory, BetweenStepsIsWhatTheLedgerSays) {
  on_processes(2, [](const comm::Group& world) {
    for (const Stage stage : kStages) {
      const Measured measured = measure(world, stage);
      const std::int64_t unknown = measured.resident.count - measured.ledger.count;
      require(unknown >= 0 && unknown <= kSmall.count, text(stage, measured));
    }
  });
}

constexpr int kLayers = 8;
constexpr std::int64_t kWidth = 512;
constexpr Bytes kLayer{4 * (kWidth * kWidth + kWidth)};
constexpr Bytes kModel{kLayers * kLayer.count};

/// Equal layers, each a unit of its own, with random values.
torch::nn::Sequential layers() {
  torch::nn::Sequential stack;
  for (int i = 0; i < kLayers; ++i) stack->push_back(torch::nn::Linear(kWidth, kWidth));
  return stack;
}

/// What it takes to build a model and to cut it by zero3.
struct Start {
  Bytes peak;
  /// What is left of it: by the allocator, and by the ledger.
  Bytes resident;
  Bytes ledger;
};

Start measure_start(const comm::Group& world, const std::function<torch::nn::Sequential()>& build) {
  const std::int64_t before = in_use(world);
  memory::reset_cpu_peak();
  auto model = build();
  const sharding::State state = shard(*model, {.group = world, .ledger = {}});
  const Bytes peak = memory::cpu_usage().peak;
  return {.peak = {peak.count - before},
          .resident = {in_use(world) - before},
          .ledger = state.ledger().current()};
}

std::string text(const std::string& how, const Start& start) {
  return how + ": peak " + to_string(start.peak) + ", resident " + to_string(start.resident) +
         ", ledger " + to_string(start.ledger) + "\n";
}

TEST(PeakMemory, OfADeferredStartIsThatOfTheShardsAndOneUnit) {
  on_processes(4, [](const comm::Group& world) {
    const Start start = measure_start(world, [] { return deferred(layers); });
    const std::string story = text("deferred", start);
    // Shards of parameters and of gradients, which are there from the start.
    require(start.ledger.count == 2 * kModel.count / world.size(), story);
    require(start.resident.count <= start.ledger.count + kSmall.count, story);
    require(start.peak.count <= start.ledger.count + kLayer.count + kSmall.count, story);
  });
}

TEST(PeakMemory, OfADeferredStartIsLessThanThatOfAnOrdinaryOne) {
  on_processes(4, [](const comm::Group& world) {
    const Start deferred_start = measure_start(world, [] { return deferred(layers); });
    const Start ordinary = measure_start(world, layers);
    const std::string story = text("deferred", deferred_start) + text("ordinary", ordinary);
    // The whole model is there before it is cut.
    require(ordinary.peak > kModel, story);
    require(deferred_start.peak < kModel, story);
    require(ordinary.ledger == deferred_start.ledger, story);
  });
}

}  // namespace
}  // namespace sheaf::testing

int main(int argc, char** argv) {
  sheaf::memory::count_cpu_tensors();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
