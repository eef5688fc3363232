// How fast are the layers beside LibTorch's own, at the shapes of a small GPT?
//
//   build/bench/layers [threads]     1 by default
//
// Each line times one pass forward and backward by both, in turns.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>

#include "median.h"
#include "sheaf/base/table.h"
#include "sheaf/memory/cpu_reuse.h"
#include "sheaf/nn/attention.h"
#include "sheaf/nn/linear.h"
#include "sheaf/nn/linear_cross_entropy.h"
#include "sheaf/nn/norm.h"

namespace {

using Clock = std::chrono::steady_clock;
using Forward = std::function<at::Tensor()>;

constexpr int kRounds = 25;
constexpr std::int64_t kBatch = 4, kLength = 256, kWidth = 384, kHeads = 6, kVocabulary = 8192;
constexpr std::int64_t kRows = kBatch * kLength;

struct Line {
  std::string name;
  std::vector<at::Tensor> inputs;
  Forward sheaf;
  Forward torch;
};

at::Tensor leaf(at::IntArrayRef shape) { return at::randn(shape).mul_(0.1).requires_grad_(); }

Line linear(std::int64_t in, std::int64_t out) {
  const at::Tensor x = leaf({kRows, in}), weight = leaf({out, in}), bias = leaf({out});
  return {fmt::format("linear {} -> {}", in, out),
          {x, weight, bias},
          [=] { return sheaf::nn::linear(x, weight, bias); },
          [=] { return at::linear(x, weight, bias); }};
}

/// With the weight as GPT-2 has it.
Line conv1d(std::int64_t in, std::int64_t out) {
  const at::Tensor x = leaf({kRows, in}), weight = leaf({in, out}), bias = leaf({out});
  return {fmt::format("conv1d {} -> {}", in, out),
          {x, weight, bias},
          [=] { return sheaf::nn::linear(x, weight, bias, sheaf::nn::WeightLayout::in_out); },
          [=] { return at::addmm(bias, x, weight); }};
}

Line gelu_linear() {
  const at::Tensor x = leaf({kRows, 4 * kWidth}), weight = leaf({4 * kWidth, kWidth});
  const at::Tensor bias = leaf({kWidth});
  return {"gelu + conv1d",
          {x, weight, bias},
          [=] { return sheaf::nn::gelu_linear(x, weight, bias, sheaf::nn::WeightLayout::in_out); },
          [=] { return at::addmm(bias, at::gelu(x, "tanh"), weight); }};
}

Line loss() {
  const at::Tensor hidden = leaf({kRows, kWidth}), weight = leaf({kVocabulary, kWidth});
  const at::Tensor targets = at::randint(kVocabulary, {kRows}, at::kLong);
  return {fmt::format("loss over {} tokens", kVocabulary),
          {hidden, weight},
          [=] { return sheaf::nn::linear_cross_entropy(hidden, weight, targets); },
          [=] {
            return at::cross_entropy_loss(
                at::linear(hidden, weight), targets, {}, at::Reduction::Sum);
          }};
}

Line gelu() {
  const at::Tensor x = leaf({kRows, 4 * kWidth});
  return {
      "gelu", {x}, [=] { return sheaf::nn::gelu_tanh(x); }, [=] { return at::gelu(x, "tanh"); }};
}

Line swiglu() {
  const at::Tensor gate = leaf({kRows, 4 * kWidth}), up = leaf({kRows, 4 * kWidth});
  return {"swiglu",
          {gate, up},
          [=] { return sheaf::nn::swiglu(gate, up); },
          [=] { return at::silu(gate) * up; }};
}

Line rms_norm() {
  const at::Tensor x = leaf({kRows, kWidth}), weight = leaf({kWidth});
  return {"rms_norm",
          {x, weight},
          [=] { return sheaf::nn::rms_norm(x, weight, 1e-5); },
          [=] { return at::rms_norm(x, {kWidth}, weight, 1e-5); }};
}

Line attention() {
  const at::Tensor x = leaf({kBatch, kLength, 3 * kWidth});
  const auto parts = [=] {
    std::vector<at::Tensor> all = x.split(kWidth, -1);
    for (at::Tensor& part : all) {
      part = part.view({kBatch, kLength, kHeads, kWidth / kHeads}).transpose(1, 2);
    }
    return all;
  };
  return {"attention",
          {x},
          [=] {
            const auto all = parts();
            return sheaf::nn::attention(all[0], all[1], all[2], {});
          },
          [=] {
            const auto all = parts();
            return at::scaled_dot_product_attention(all[0], all[1], all[2], {}, 0.0, true);
          }};
}

double seconds(const Line& line, const Forward& forward) {
  for (const at::Tensor& input : line.inputs) input.mutable_grad() = at::Tensor();
  const auto start = Clock::now();
  const at::Tensor result = forward();
  result.backward(at::ones_like(result));
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<std::string> row(const Line& line) {
  std::vector<double> own, others;
  for (int round = 0; round < kRounds; ++round) {
    own.push_back(seconds(line, line.sheaf));
    others.push_back(seconds(line, line.torch));
  }
  const auto fastest = [](const std::vector<double>& times) {
    return *std::min_element(times.begin(), times.end());
  };
  const double mine = sheaf::bench::median(own), theirs = sheaf::bench::median(others);
  return {line.name,
          fmt::format("{:.2f} ms", mine * 1e3),
          fmt::format("{:.2f} ms", theirs * 1e3),
          fmt::format("{:.2f} ms", fastest(own) * 1e3),
          fmt::format("{:.2f} ms", fastest(others) * 1e3),
          fmt::format("{:.2f}x", theirs / mine)};
}

}  // namespace

int main(int argc, char** argv) {
  sheaf::memory::reuse_cpu_memory();
  at::set_num_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  sheaf::Table table({"forward + backward", "sheaf", "ATen", "sheaf best", "ATen best", "faster"});
  for (const Line& line : {linear(kWidth, 3 * kWidth),
                           linear(kWidth, kWidth),
                           linear(kWidth, 4 * kWidth),
                           linear(4 * kWidth, kWidth),
                           conv1d(kWidth, 3 * kWidth),
                           conv1d(kWidth, kWidth),
                           conv1d(kWidth, 4 * kWidth),
                           conv1d(4 * kWidth, kWidth),
                           gelu_linear(),
                           loss(),
                           gelu(),
                           swiglu(),
                           rms_norm(),
                           attention()}) {
    table.add(row(line));
  }
  std::cout << kRows << " rows, fp32, " << at::get_num_threads() << " threads, medians of "
            << kRounds << "\n"
            << table.str() << std::endl;
  return 0;
}
