// Predictions beside what real runs take: a program of its own, because it counts every CPU tensor
// from the start. Ranks are processes over shared memory, so that each counts itself.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>

#include "sheaf/memory/cpu_usage.h"
#include "sheaf/train/memory_report.h"
#include "sheaf/train/trainer.h"
#include "support/on_ranks.h"

namespace sheaf::plan {
namespace {

using memory::Purpose;
using sheaf::testing::require;

/// What a prediction of the peak may be off.
constexpr double kTolerance = 0.05;
using Stages = std::vector<std::string>;

struct Size {
  const char* preset;
  std::int64_t layers;
  std::int64_t width;
  std::int64_t heads;
  std::int64_t vocabulary;
  std::int64_t context;
  double dropout = 0;
};

constexpr std::array kSizes{
    Size{"gpt2-tiny", 4, 128, 4, 256, 128},
    Size{"gpt2-tiny", 3, 192, 6, 4096, 64},
    Size{"gpt2-tiny", 4, 128, 4, 256, 128, 0.1},
    Size{"llama-tiny", 4, 128, 4, 256, 128},
    Size{"smollm3-tiny", 4, 96, 4, 2048, 64},
};

train::RunOptions run_of(const Size& size, int ranks, std::int64_t micro, std::int64_t passes) {
  train::RunOptions options;
  options.model.preset = size.preset;
  options.model.layers = size.layers;
  options.model.width = size.width;
  options.model.heads = size.heads;
  options.model.vocabulary = size.vocabulary;
  options.model.context = size.context;
  if (options.model.preset == "gpt2-tiny") options.model.dropout = size.dropout;
  options.model.attention_dropout = size.dropout;
  options.data.source = data::Source::random;
  options.data.size = 1 << 15;
  options.batch.global = ranks * micro * passes;
  options.batch.micro = micro;
  options.shard.bucket = kibibytes(256);
  options.shard.first_bucket = kibibytes(64);
  options.train.steps = 3;
  options.train.evaluate = false;
  options.train.sample_tokens = 0;
  return options;
}

train::MemoryReport measure(const train::RunOptions& options, const comm::Group& world) {
  const auto probe = std::make_shared<train::MemoryProbe>(options, train::ProbeOptions{.step = 3});
  const train::Hooks hooks{.sinks = {probe}, .labels_memory = true};
  static_cast<void>(train::run(options, world, hooks));
  return probe->report();
}

std::string line_of(const train::RunOptions& options, const train::MemoryReport& report) {
  const auto measured = static_cast<double>(report.peak.count);
  const auto predicted = static_cast<double>(report.predicted->peak.count);
  return fmt::format(
      "{:13} {}x{:<3} vocabulary {:4} dropout {:3} {:13} {:4} micro {:2} global {:2}: measured "
      "{:>10}, "
      "predicted {:>10}, error {:+.2f} % (peak in {})",
      options.model.preset,
      options.model.layers,
      options.model.width,
      options.model.vocabulary,
      options.model.attention_dropout,
      options.shard.stage,
      enum_name(options.precision.compute),
      options.batch.micro,
      options.batch.global,
      to_string(report.peak),
      to_string(report.predicted->peak),
      100 * (predicted / measured - 1),
      report.predicted->moment);
}

/// Runs on rank 0, which alone has a report.
void check(const train::RunOptions& options, const train::MemoryReport& report) {
  const std::string line = line_of(options, report);
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
  const auto measured = static_cast<double>(report.peak.count);
  const auto predicted = static_cast<double>(report.predicted->peak.count);
  require(std::abs(predicted / measured - 1) <= kTolerance, line);
  for (const Purpose purpose : {Purpose::parameters, Purpose::gradients, Purpose::optimizer}) {
    require(report.resting[purpose] == report.predicted->resting[purpose],
            fmt::format("{}: {} hold {} bytes, predicted {}",
                        line,
                        name(purpose),
                        report.resting[purpose].count,
                        report.predicted->resting[purpose].count));
  }
}

void on_processes(int num_ranks, const std::function<void(comm::Group)>& body) {
  const auto outcomes = comm::run_ranks_forked(num_ranks, body, {.timeout = Seconds(120)});
  for (const auto& outcome : outcomes) {
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.exit_code, 0);
  }
}

struct Case {
  std::int64_t micro;
  std::int64_t passes;
};
constexpr std::array kCases{Case{1, 1}, Case{4, 1}, Case{2, 3}};

using Change = std::function<void(train::RunOptions&)>;

void measure_all(
    int num_ranks, const Size& size, const Stages& stages, const Change& change = [](auto&) {}) {
  on_processes(num_ranks, [&](const comm::Group& world) {
    for (const std::string& stage : stages) {
      for (const auto& [micro, passes] : kCases) {
        train::RunOptions options = run_of(size, num_ranks, micro, passes);
        options.shard.stage = stage;
        change(options);
        const train::MemoryReport report = measure(options, world);
        if (world.rank() == 0) check(options, report);
      }
    }
  });
}

class PredictedMemory : public ::testing::TestWithParam<std::size_t> {};

TEST_P(PredictedMemory, IsWhatTwoRanksTake) {
  measure_all(2, kSizes.at(GetParam()), {"ddp", "zero1", "zero2", "zero3", "SHARD_GRAD_OP"});
}

INSTANTIATE_TEST_SUITE_P(Sizes, PredictedMemory, ::testing::Range<std::size_t>(0, kSizes.size()));

TEST(PredictedMemoryOf, OneRankIsWhatItTakes) { measure_all(1, kSizes[0], {"ddp", "zero3"}); }

TEST(PredictedMemoryOf, PassesThatAreReducedIsWhatTheyTake) {
  measure_all(2, kSizes[0], {"zero2", "zero3"}, [](train::RunOptions& options) {
    options.shard.no_sync = sharding::NoSync::reduce;
  });
}

TEST(PredictedMemoryOf, LowPrecisionIsWhatItTakes) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{3}}) {
    measure_all(2, kSizes.at(size), {"ddp", "zero3"}, [](train::RunOptions& options) {
      options.precision.compute = train::Compute::bf16;
    });
  }
}

}  // namespace
}  // namespace sheaf::plan

int main(int argc, char** argv) {
  sheaf::memory::count_cpu_tensors();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
