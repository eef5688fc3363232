// How fast is a step of AdamW beside LibTorch's own?
//
//   build/bench/optimizers [million elements]     16 by default
//
// The same run times sheaf's AdamW, LibTorch's fused kernel and torch::optim::AdamW on one fp32
// tensor, in turns, and sheaf's with a bf16 copy to write as well.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/optim/adamw.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <thread>

#include "median.h"
#include "optim/kernels/cpu.h"
#include "sheaf/base/table.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/optim/plain_slots.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 15;

struct Contestant {
  std::string name;
  /// Bytes that a step must move per element.
  double bytes = 28;
  std::function<void()> step;
  std::vector<double> times = {};
};

at::Tensor parameter(std::int64_t size, at::ScalarType type) {
  return at::randn({size}).to(type).requires_grad_();
}

Contestant sheafs(std::int64_t size, at::ScalarType type) {
  const at::Tensor p = parameter(size, type);
  const at::Tensor gradient = at::randn({size});
  const auto optimizer = std::make_shared<sheaf::optim::AdamW>(
      sheaf::optim::plain_slots({{"p", p}}), sheaf::optim::AdamWOptions{});
  return {.name = "sheaf", .step = [=] {
            p.mutable_grad() = gradient;
            optimizer->step();
          }};
}

/// The kernel alone, with a copy to write.
Contestant sheafs_with_copy(std::int64_t size) {
  const at::Tensor rows = at::rand({4, size});
  const at::Tensor copy = at::zeros({size}, at::kBFloat16);
  const auto step = [=] {
    sheaf::optim::adam_on_cpu({.master = rows[0].mutable_data_ptr(),
                               .gradient = rows[1].const_data_ptr(),
                               .state1 = rows[2].mutable_data_ptr(),
                               .state2 = rows[3].mutable_data_ptr(),
                               .copy = copy.mutable_data_ptr(),
                               .size = size,
                               .copy_type = sheaf::optim::Type::bf16},
                              {1, 0, 0.9, 0.1, 0.999, 0.001, 1, 1e-8, 1e-3});
  };
  return {.name = "sheaf, bf16 copy", .bytes = 30, .step = step};
}

Contestant fused(std::int64_t size) {
  const std::vector<at::Tensor> p{at::randn({size})};
  const std::vector<at::Tensor> gradient{at::randn({size})};
  const std::vector<at::Tensor> exp_avg{at::zeros({size})};
  const std::vector<at::Tensor> exp_avg_sq{at::zeros({size})};
  const std::vector<at::Tensor> steps{at::zeros({})};
  const auto step = [=] {
    steps[0].add_(1);
    at::_fused_adamw_(
        p, gradient, exp_avg, exp_avg_sq, {}, steps, 1e-3, 0.9, 0.999, 1e-2, 1e-8, false, false);
  };
  return {.name = "at::_fused_adamw_", .step = step};
}

Contestant torchs(std::int64_t size) {
  const at::Tensor p = parameter(size, at::kFloat);
  const auto optimizer = std::make_shared<torch::optim::AdamW>(std::vector<at::Tensor>{p});
  p.mutable_grad() = at::randn({size});
  return {.name = "torch::optim::AdamW", .step = [=] { optimizer->step(); }};
}

double seconds(const std::function<void()>& call) {
  // LibTorch's threads keep a core busy for a while after their work, whoever comes next.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto start = Clock::now();
  call();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t size = (argc > 1 ? std::atoll(argv[1]) : 16) << 20;
  std::vector<Contestant> all{
      sheafs(size, at::kFloat), sheafs_with_copy(size), fused(size), torchs(size)};
  for (Contestant& each : all) each.step();
  for (int round = 0; round < kRounds; ++round) {
    for (Contestant& each : all) each.times.push_back(seconds(each.step));
  }
  const double own = sheaf::bench::median(all[0].times);
  sheaf::Table table({"AdamW", "median", "fastest", "GB/s", "time / sheaf"});
  for (const Contestant& each : all) {
    const double median = sheaf::bench::median(each.times);
    table.add(
        {each.name,
         fmt::format("{:.1f} ms", median * 1e3),
         fmt::format("{:.1f} ms", *std::min_element(each.times.begin(), each.times.end()) * 1e3),
         fmt::format("{:.1f}", each.bytes * static_cast<double>(size) / median / 1e9),
         fmt::format("{:.2f}x", median / own)});
  }
  std::cout << (size >> 20) << " Mi elements, " << at::get_num_threads() << " threads, kernel "
            << sheaf::optim::cpu_kernels().front().name << ", " << kRounds << " rounds\n"
            << table.str() << std::endl;
  return 0;
}
