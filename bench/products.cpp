// How fast are fp32 products in sheaf's tiles, by the BLAS that LibTorch brings, and by oneDNN, at
// the shapes of a small GPT's training step?
//
//   build/bench/products [threads [rows]]     1 and 1024 by default
//
// The three take turns. Tiles and BLAS write into memory that is there; oneDNN's operator takes its
// own, and only comes with some shapes.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>

#include "median.h"
#include "nn/kernels/blas.h"
#include "nn/kernels/fused_product_cpu.h"
#include "nn/kernels/tiles.h"
#include "sheaf/base/table.h"
#include "sheaf/memory/cpu_reuse.h"

namespace {

using sheaf::nn::FusedProduct;
using Clock = std::chrono::steady_clock;
using Way = std::function<void()>;

constexpr int kRounds = 15;
constexpr std::int64_t kWidth = 384, kVocabulary = 8192, kLogitRows = 256;

struct Line {
  std::string name;
  FusedProduct product;
};

/// A forward product, x w, with the weight as GPT-2 has it.
Line forward(std::int64_t rows, std::int64_t in, std::int64_t out) {
  return {fmt::format("forward, {} to {}", in, out),
          {.a = at::randn({rows, in}), .b = at::randn({in, out})}};
}

Line to_input(std::int64_t rows, std::int64_t in, std::int64_t out) {
  return {fmt::format("gradient of the input, {} to {}", in, out),
          {.a = at::randn({rows, out}), .b = at::randn({in, out}).t()}};
}

Line to_weight(std::int64_t rows, std::int64_t in, std::int64_t out) {
  return {fmt::format("gradient of the weight, {} to {}", in, out),
          {.a = at::randn({rows, in}).t(), .b = at::randn({rows, out})}};
}

std::vector<Line> lines(std::int64_t rows) {
  std::vector<Line> result;
  for (const auto& [in, out] : {std::pair{kWidth, 3 * kWidth},
                                {kWidth, kWidth},
                                {kWidth, 4 * kWidth},
                                {4 * kWidth, kWidth}}) {
    result.push_back(forward(rows, in, out));
    result.push_back(to_input(rows, in, out));
    result.push_back(to_weight(rows, in, out));
  }
  result.push_back(
      {"logits of 256 rows",
       {.a = at::randn({kLogitRows, kWidth}), .b = at::randn({kVocabulary, kWidth}).t()}});
  result.push_back(
      {"their gradient back to the rows",
       {.a = at::randn({kLogitRows, kVocabulary}), .b = at::randn({kVocabulary, kWidth})}});
  result.push_back(
      {"their gradient to the head",
       {.a = at::randn({kLogitRows, kVocabulary}).t(), .b = at::randn({kLogitRows, kWidth})}});
  return result;
}

void by_one_dnn(const FusedProduct& product) {
  using Pointwise = at::Tensor(const at::Tensor&,
                               const at::Tensor&,
                               const std::optional<at::Tensor>&,
                               std::string_view,
                               c10::List<std::optional<at::Scalar>>,
                               std::optional<std::string_view>);
  static const auto kOperator = c10::Dispatcher::singleton()
                                    .findSchemaOrThrow("mkldnn::_linear_pointwise", "")
                                    .typed<Pointwise>();
  kOperator.call(
      product.a, product.b.t(), std::nullopt, "none", c10::List<std::optional<at::Scalar>>(), "");
}

double seconds(const Way& way) {
  const auto start = Clock::now();
  way();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Returns the median speed of each way.
std::vector<std::string> row(Line line) {
  const std::int64_t m = line.product.a.size(0), n = line.product.b.size(1);
  line.product.result = at::empty({m, n});
  const std::vector<Way> ways{[&] { TORCH_CHECK(sheaf::nn::product_by_tiles(line.product)); },
                              [&] { TORCH_CHECK(sheaf::nn::product_by_blas(line.product)); },
                              [&] { by_one_dnn(line.product); }};
  std::vector<std::vector<double>> times(ways.size());
  for (int round = 0; round <= kRounds; ++round) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const double time = seconds(ways[i]);
      if (round > 0) times[i].push_back(time);
    }
  }
  const double operations = 2.0 * static_cast<double>(m * n * line.product.a.size(1));
  std::vector<std::string> cells{line.name};
  for (const auto& each : times) {
    cells.push_back(fmt::format("{:.1f}", operations / sheaf::bench::median(each) / 1e9));
  }
  return cells;
}

}  // namespace

int main(int argc, char** argv) {
  sheaf::memory::reuse_cpu_memory();
  at::set_num_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  const std::int64_t rows = argc > 2 ? std::atoi(argv[2]) : 1024;
  if (!sheaf::nn::has_tiles() || !sheaf::nn::has_blas()) {
    std::cerr << "products: this processor has no tiles, or LibTorch no BLAS\n";
    return 1;
  }
  sheaf::Table table({"GFLOP/s", "tiles", "BLAS", "oneDNN"});
  for (const Line& line : lines(rows)) table.add(row(line));
  std::cout << rows << " rows, fp32, " << at::get_num_threads() << " threads, medians of "
            << kRounds << "; sheaf takes "
            << (sheaf::nn::prefers_tiles(rows, kWidth) ? "tiles" : "BLAS") << " here\n"
            << table.str() << std::endl;
  return 0;
}
