// How much of the communication is hidden behind computation?
//
//   build/bench/overlap [rounds [part]]     7 rounds of all: asleep, slow, shared, gloo
//
// First with a network whose every collective takes 20 ms longer, by sleeping: how much longer does
// a step take for it? Then with the real backends: how long does a step wait for communication?
// Two processes with one thread each; blocks take longer than a collective sleeps. In the first
// table they sleep too, as if an accelerator computed, so that a busy machine does not matter.
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/linear.h>

#include <ATen/ops/gelu.h>
#include <ATen/ops/randn.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <thread>
#include <vector>

#include "median.h"
#include "outcomes.h"
#include "sheaf/base/table.h"
#include "sheaf/comm/run_ranks.h"
#include "sheaf/module/forward.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/sharding/shard.h"
#include "slow_backend.h"

namespace {

namespace nn = torch::nn;
using sheaf::Stage;
using sheaf::bench::median;
using sheaf::bench::Slowness;
using sheaf::comm::BackendKind;
using sheaf::comm::Group;

constexpr int kRanks = 2;
constexpr int kWarmUp = 3;
constexpr std::int64_t kDelayMs = 20;
constexpr std::int64_t kBlocks = 12;
constexpr std::int64_t kWidth = 512;
constexpr std::int64_t kRows = 1024;
// What blocks that sleep compute by themselves, and how long they sleep in forward; twice in
// backward.
constexpr std::int64_t kRowsAsleep = 16;
constexpr std::chrono::milliseconds kForward{30};

enum class Work { computes, sleeps };

struct Pace : torch::autograd::Function<Pace> {
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& x) {
    std::this_thread::sleep_for(kForward);
    return x.clone();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 torch::autograd::variable_list gradients) {
    std::this_thread::sleep_for(2 * kForward);
    return gradients;
  }
};

struct Block final : nn::Module {
  explicit Block(Work how)
      : work(how),
        up(register_module("up", nn::Linear(kWidth, 4 * kWidth))),
        down(register_module("down", nn::Linear(4 * kWidth, kWidth))) {}
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor y = up(x);
    return x + down(at::gelu(work == Work::sleeps ? Pace::apply(y) : y));
  }
  Work work;
  nn::Linear up, down;
};

struct Tower final : nn::Module {
  explicit Tower(Work work) : blocks(register_module("blocks", nn::ModuleList())) {
    for (std::int64_t i = 0; i < kBlocks; ++i) blocks->push_back(std::make_shared<Block>(work));
  }
  at::Tensor forward(at::Tensor x) {
    for (const auto& block : *blocks) x = sheaf::forward(*block->as<Block>(), x);
    return x.square().mean();
  }
  nn::ModuleList blocks;
};

/// What is measured, and how.
struct Setting {
  Stage stage = Stage::zero3;
  bool overlap = true;
  Work work = Work::computes;
};

std::string text(Stage stage) { return stage == Stage::ddp ? "ddp" : "zero3"; }

/// A model in training.
class Trainee {
 public:
  Trainee(const Group& group, const Setting& setting)
      : group_(group),
        model_(setting.work),
        state_(sheaf::shard(model_,
                            {.group = group,
                             .stage = setting.stage,
                             // One per block, as zero3 has it: the last one is never hidden.
                             .buckets = {.cap = sheaf::mebibytes(8)},
                             .prefetch = setting.overlap,
                             .overlap = setting.overlap,
                             .gradient_scale = 1.0 / group.size()})),
        optimizer_(state_.slots()),
        rows_(at::randn({setting.work == Work::sleeps ? kRowsAsleep : kRows, kWidth})) {}

  /// Returns the milliseconds that a step takes.
  double step() {
    group_.barrier().wait();
    const auto began = std::chrono::steady_clock::now();
    sheaf::forward(model_, rows_).backward();
    optimizer_.step();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began)
        .count();
  }

  void warm_up() {
    for (int i = 0; i < kWarmUp; ++i) step();
  }

 private:
  Group group_;
  Tower model_;
  sheaf::sharding::State state_;
  sheaf::optim::AdamW optimizer_;
  at::Tensor rows_;
};

/// Steps with and without sleep take turns, because the machine's speed drifts.
void measure_slow(const Group& group, const Setting& setting, int rounds, sheaf::Table& table) {
  const auto slowness = std::make_shared<Slowness>();
  Trainee trainee(sheaf::bench::slow_group(group, slowness), setting);
  trainee.warm_up();
  std::vector<double> plain, slow, longer;
  for (int round = 0; round < rounds; ++round) {
    slowness->delay_ms = 0;
    plain.push_back(trainee.step());
    slowness->delay_ms = kDelayMs;
    slow.push_back(trainee.step());
    longer.push_back(slow.back() - plain.back());
  }
  const double sleeps = static_cast<double>(slowness->sleeps) / rounds;
  const double slept = sleeps * static_cast<double>(kDelayMs);
  table.add({text(setting.stage),
             setting.overlap ? "on" : "off",
             fmt::format("{:.0f}", sleeps),
             fmt::format("{:.0f} ms", slept),
             fmt::format("{:.0f} ms", median(plain)),
             fmt::format("{:.0f} ms", median(slow)),
             fmt::format("{:.0f} ms", median(longer)),
             fmt::format("{:.0f} %", 100 * (1 - median(longer) / slept))});
}

/// Waiting includes waiting for the other rank, which computes at its own pace.
void measure_real(const Group& group, const Setting& setting, int rounds, sheaf::Table& table) {
  Trainee trainee(group, setting);
  trainee.warm_up();
  std::vector<double> steps, waits;
  for (int round = 0; round < rounds; ++round) {
    const auto before = group.traffic();
    steps.push_back(trainee.step());
    const auto moved = group.traffic() - before;
    const auto waited = moved.total().waiting - moved.of(sheaf::comm::Kind::barrier).waiting;
    waits.push_back(waited.count() * 1e3);
  }
  table.add({std::string(group.backend()),
             text(setting.stage),
             setting.overlap ? "on" : "off",
             fmt::format("{:.0f} ms", median(steps)),
             fmt::format("{:.0f} ms", median(waits)),
             fmt::format("{:.0f} %", 100 * median(waits) / median(steps))});
}

void for_all_settings(Work work, const std::function<void(const Setting&)>& body) {
  for (const Stage stage : {Stage::ddp, Stage::zero3}) {
    for (const bool overlap : {false, true}) {
      body({.stage = stage, .overlap = overlap, .work = work});
    }
  }
}

void show_slow(const Group& group, Work work, int rounds) {
  sheaf::Table table({"strategy",
                      "overlap",
                      "collectives",
                      "slept",
                      "step",
                      "step with sleep",
                      "longer",
                      "hidden"});
  for_all_settings(work,
                   [&](const Setting& setting) { measure_slow(group, setting, rounds, table); });
  if (group.rank() != 0) return;
  std::cout << fmt::format("every collective sleeps {} ms, blocks {}; per step, median of {}\n{}",
                           kDelayMs,
                           work == Work::sleeps ? "sleep" : "compute",
                           rounds,
                           table.str())
            << std::endl;
}

void show_real(const Group& group, int rounds) {
  sheaf::Table table({"backend", "strategy", "overlap", "step", "waiting", "of the step"});
  for_all_settings(Work::computes,
                   [&](const Setting& setting) { measure_real(group, setting, rounds, table); });
  if (group.rank() == 0) std::cout << table.str() << std::endl;
}

struct Part {
  std::string name;
  BackendKind backend;
  std::function<void(const Group&)> body;
};

/// Runs a part on fresh processes; tells whether all went well.
bool run(const Part& part) {
  return sheaf::bench::all_went_well(
      sheaf::comm::run_ranks_forked(kRanks, part.body, {.backend = part.backend}));
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 7;
  const std::string only = argc > 2 ? argv[2] : "";
  std::cout << fmt::format("{} processes; {} blocks of {:.1f}M parameters, {} rows, fp32\n\n",
                           kRanks,
                           kBlocks,
                           8e-6 * kWidth * kWidth,
                           kRows)
            << std::flush;
  const auto asleep = [&](const Group& group) { show_slow(group, Work::sleeps, rounds); };
  const auto slow = [&](const Group& group) { show_slow(group, Work::computes, rounds); };
  const auto real = [&](const Group& group) { show_real(group, rounds); };
  const Part parts[] = {{"asleep", BackendKind::shared, asleep},
                        {"slow", BackendKind::shared, slow},
                        {"shared", BackendKind::shared, real},
                        {"gloo", BackendKind::gloo, real}};
  for (const Part& part : parts) {
    if ((only.empty() || only == part.name) && !run(part)) return 1;
  }
  return 0;
}
