#include "one_rank.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <fmt/format.h>

#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "gpt.h"
#include "gpt2.h"
#include "median.h"
#include "sheaf/base/error.h"
#include "sheaf/module/forward.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/sharding/shard.h"
#include "sheaf/train/memory_use.h"

namespace sheaf::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMegabyte = 1e6;

struct Batch {
  at::Tensor tokens;
  at::Tensor targets;
};

at::Device device_of(const RunOptions& options) {
  if (options.device == comm::DeviceKind::cpu) return at::kCPU;
  return {at::kCUDA, 0};
}

/// Returns the same random texts as the Python side. They are trained on again and again, so the
/// loss falls.
Batch random_batch(const RunOptions& options, const comm::Group& group, const GptOptions& model) {
  at::Generator random =
      at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(group.rank() + 1));
  const std::int64_t size = batch_per_rank(options, group.size());
  const auto draw = [&] {
    return at::randint(model.vocabulary, {size, kTextLength}, random, at::kLong)
        .to(device_of(options));
  };
  at::Tensor tokens = draw();
  return {std::move(tokens), draw()};
}

double rss_mb(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != fmt::format("{}:", field)) continue;
    double kibibytes = 0;
    status >> kibibytes;
    return kibibytes * 1024 / kMegabyte;
  }
  throw Error(fmt::format("/proc/self/status has no {}", field));
}

/// What a rank held at most: of the process on the CPU, of LibTorch's allocator on a GPU.
double peak_mb(at::Device device) {
  if (device.is_cpu()) return rss_mb("VmHWM");
  return static_cast<double>(train::measure_memory(device).peak_allocated.count) / kMegabyte;
}

/// What all processes together hold of the GPU, contexts and memory of backends included.
double used_mb(at::Device device) {
  if (device.is_cpu()) return 0;
  const auto [free, total] = at::getDeviceAllocator(at::kCUDA)->getMemoryInfo(device.index());
  return static_cast<double>(total - free) / kMegabyte;
}

Stage stage_of(const std::string& name) {
  for (const Strategy& each : kStrategies) {
    if (name == each.name) return each.stage;
  }
  if (name == kAlone.name) return kAlone.stage;
  throw UsageError(
      fmt::format("--strategy must be alone, ddp, zero1, zero2 or zero3, not '{}'", name));
}

double over_ranks(double value,
                  comm::Reduction reduction,
                  at::Device device,
                  const comm::Group& group) {
  const at::Tensor tensor = at::tensor({value}, at::kDouble).to(device);
  group.all_reduce(tensor, {.reduction = reduction}).wait();
  return tensor.item<double>();
}

void finish_work(at::Device device) {
  if (!device.is_cpu()) at::detail::getCUDAHooks().deviceSynchronize(device.index());
}

/// Ranks that share a GPU meet for every bucket, and meetings are what costs there: see
/// docs/one_gpu.md. Under ddp gradients stay whole, so larger buckets cost larger slots alone.
layout::BucketOptions buckets_of(const RunOptions& options) {
  if (options.device == comm::DeviceKind::cpu || options.strategy != "ddp") return {};
  return {.cap = Bytes{54 << 20}};
}

struct Training {
  double step_seconds = 0;
  double last_loss = 0;
};

/// Runs steps and returns how long one takes: on the CPU the median; on a GPU, which runs behind
/// the host, the mean until all work has ended.
template <class Step>
double time_steps(const Step& step, const RunOptions& options, const comm::Group& group) {
  const at::Device device = device_of(options);
  for (int i = 0; i < options.warm_up; ++i) step();
  finish_work(device);
  group.barrier().wait();
  std::vector<double> seconds;
  const auto start = Clock::now();
  for (int i = 0; i < options.steps; ++i) {
    const auto began = Clock::now();
    step();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - began).count());
  }
  if (device.is_cpu()) return median(seconds);
  finish_work(device);
  return std::chrono::duration<double>(Clock::now() - start).count() / options.steps;
}

/// `loss_of` runs a forward pass and returns the mean loss.
template <class Model, class Loss>
Training train(Model& model,
               const Loss& loss_of,
               const RunOptions& options,
               const comm::Group& group) {
  const bool exchanges = options.exchange != Exchange::none;
  const auto state =
      shard(model,
            {.group = exchanges ? group : comm::fake_group(group.size(), group.rank()),
             .device = device_of(options),
             .stage = stage_of(options.strategy),
             .buckets = buckets_of(options),
             .overlap = options.exchange == Exchange::beside,
             .gradient_scale = 1.0 / group.size()});
  optim::AdamW optimizer(state.slots(), {.learning_rate = options.learning_rate});
  at::Tensor loss;
  const auto step = [&] {
    loss = loss_of(model);
    loss.backward();
    optimizer.step();
  };
  const double seconds = time_steps(step, options, group);
  return {.step_seconds = seconds,
          .last_loss =
              over_ranks(loss.item<double>(), comm::Reduction::average, device_of(options), group)};
}

Training train_model(const GptOptions& shape,
                     const Batch& batch,
                     const RunOptions& options,
                     const comm::Group& group) {
  if (options.model == "plain") {
    Gpt model(shape);
    return train(
        model,
        [&](Gpt& gpt) { return sheaf::forward(gpt, batch.tokens, batch.targets); },
        options,
        group);
  }
  const auto model = same_as_gpt2(shape);
  const double scale = 1.0 / static_cast<double>(batch.targets.numel());
  return train(
      *model,
      [&](models::Model& gpt) {
        return sheaf::forward(gpt, batch.tokens, batch.targets, models::Pass{}) * scale;
      },
      options,
      group);
}

}  // namespace

void train_one_rank(const RunOptions& options, const comm::Group& group) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  at::set_num_threads(std::max(1, cores / group.size()));
  const GptOptions shape = gpt_of_size(options.size);
  const Batch batch = random_batch(options, group, shape);
  const Training training = train_model(shape, batch, options, group);
  const at::Device device = device_of(options);
  const double peak = over_ranks(peak_mb(device), comm::Reduction::max, device, group);
  const double used = used_mb(device);
  group.barrier().wait();
  if (group.rank() != 0) return;
  const double tokens = static_cast<double>(batch.tokens.numel()) * group.size();
  const nlohmann::json line = {{"tokens_per_second", tokens / training.step_seconds},
                               {"step_ms", training.step_seconds * 1e3},
                               {"peak_mb", peak},
                               {"gpu_used_mb", used},
                               {"loss", training.last_loss},
                               {"backend", group.backend()}};
  std::cout << line.dump() << std::endl;
}

}  // namespace sheaf::bench
