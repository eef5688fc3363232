#include "compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "median.h"

namespace sheaf::bench {
namespace {

/// What all runs of one side of one strategy came to.
struct Side {
  std::vector<double> tokens_per_second = {};
  std::vector<double> peak_mb = {};
  double loss = 0;

  void add(const Figures& figures) {
    tokens_per_second.push_back(figures.tokens_per_second);
    peak_mb.push_back(figures.peak_mb);
    loss = figures.loss;
  }
};

struct Pair {
  Side pytorch;
  Side sheaf;
};

/// The machine's speed drifts, so what is compared runs in turns.
Pair run_both(const CompareOptions& options, const Contest& contest) {
  Pair pair;
  for (int i = 0; i < options.repetitions; ++i) {
    pair.pytorch.add(run_pytorch(options, contest));
    pair.sheaf.add(run_sheaf(options, contest));
  }
  return pair;
}

/// Returns the median and, in brackets, the least and the greatest.
std::string spread(std::vector<double> values) {
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  return fmt::format("{:.0f} ({:.0f} to {:.0f})", median(values), *least, *greatest);
}

/// Neighbours in time are compared with each other.
std::string speed_ratio(const Pair& pair) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < pair.sheaf.tokens_per_second.size(); ++i) {
    ratios.push_back(pair.sheaf.tokens_per_second[i] / pair.pytorch.tokens_per_second[i]);
  }
  return fmt::format("{:.2f}", median(ratios));
}

void print_head(const CompareOptions& options) {
  std::cout << fmt::format(
      "texts of 256 tokens, {} steps after {}, {} runs of each side in turns; sheaf's model: {}\n\n"
      "| strategy | in PyTorch | ranks x texts | tok/s PyTorch | tok/s sheaf | ratio | peak RSS MB "
      "PyTorch | sheaf | ratio | last loss | sheaf |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n",
      options.run.steps,
      options.run.warm_up,
      options.repetitions,
      options.run.model);
}

void print_row(const Contest& contest, int texts, const Pair& pair) {
  const double peak = median(pair.pytorch.peak_mb);
  std::cout
      << fmt::format(
             "| {} | {} | {} x {} | {} | {} | {} | {:.0f} | {:.0f} | {:.2f} | {:.4f} | {:.4f} |\n",
             contest.strategy.name,
             contest.strategy.in_pytorch,
             contest.ranks,
             texts,
             spread(pair.pytorch.tokens_per_second),
             spread(pair.sheaf.tokens_per_second),
             speed_ratio(pair),
             peak,
             median(pair.sheaf.peak_mb),
             median(pair.sheaf.peak_mb) / peak,
             pair.pytorch.loss,
             pair.sheaf.loss)
      << std::flush;
}

}  // namespace

void compare(const CompareOptions& options, const std::vector<Contest>& contests) {
  print_head(options);
  for (const Contest& contest : contests) {
    const int texts = batch_per_rank(options.run, contest.ranks);
    print_row(contest, texts, run_both(options, contest));
  }
}

}  // namespace sheaf::bench
