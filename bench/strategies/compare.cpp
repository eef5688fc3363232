#include "compare.h"

#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "median.h"
#include "sheaf/base/error.h"

namespace sheaf::bench {
namespace {

/// What all runs of one side of one strategy came to.
struct Side {
  std::vector<double> tokens_per_second = {};
  std::vector<double> peak_mb = {};
  std::vector<double> start_mb = {};
  double loss = 0;
};

/// Runs a command and returns what it wrote. Throws Error, with that, if it failed.
std::string output_of(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw Error("cannot start: " + command);
  std::string text;
  for (std::array<char, 4096> part{}; fgets(part.data(), part.size(), pipe) != nullptr;) {
    text += part.data();
  }
  if (pclose(pipe) != 0) throw Error(fmt::format("{} failed:\n{}", command, text));
  return text;
}

void run(const std::string& command, Side& side) {
  const std::string output = output_of(command);
  const std::size_t begin = output.find("{\"");
  if (begin == std::string::npos)
    throw Error(fmt::format("no figures from {}:\n{}", command, output));
  const auto line = nlohmann::json::parse(output.substr(begin, output.find('\n', begin) - begin));
  side.tokens_per_second.push_back(line.at("tokens_per_second"));
  side.peak_mb.push_back(line.at("peak_mb"));
  side.start_mb.push_back(line.at("start_mb"));
  side.loss = line.at("loss");
}

std::string arguments_of(const CompareOptions& options, const Strategy& strategy) {
  return fmt::format("--strategy {} --steps {} --warm-up {} --batch {} --learning-rate {}",
                     strategy.name,
                     options.run.steps,
                     options.run.warm_up,
                     batch_per_rank(options.run, options.ranks),
                     options.run.learning_rate);
}

std::string with_threads(const CompareOptions& options, const std::string& command) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return fmt::format("OMP_NUM_THREADS={} {}", std::max(1, cores / options.ranks), command);
}

std::string pytorch_command(const CompareOptions& options, const Strategy& strategy) {
  return with_threads(
      options,
      fmt::format("{} -m torch.distributed.run --standalone --nproc-per-node {} {} {}",
                  options.python,
                  options.ranks,
                  options.peer,
                  arguments_of(options, strategy)));
}

std::string sheaf_command(const CompareOptions& options, const Strategy& strategy) {
  return with_threads(
      options,
      fmt::format(
          "{} --ranks {} {}", options.program, options.ranks, arguments_of(options, strategy)));
}

struct Pair {
  Side pytorch;
  Side sheaf;
};

/// The machine's speed drifts, so what is compared runs in turns.
Pair run_both(const CompareOptions& options, const Strategy& strategy) {
  Pair pair;
  for (int i = 0; i < options.repetitions; ++i) {
    run(pytorch_command(options, strategy), pair.pytorch);
    run(sheaf_command(options, strategy), pair.sheaf);
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
      "{} ranks, {} texts of 256 tokens per rank, {} steps after {}, {} runs of each side in "
      "turns\n\n"
      "| strategy | in PyTorch | tok/s PyTorch | tok/s sheaf | ratio | peak RSS MB PyTorch | sheaf "
      "| ratio | at start | sheaf | last loss | sheaf |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n",
      options.ranks,
      batch_per_rank(options.run, options.ranks),
      options.run.steps,
      options.run.warm_up,
      options.repetitions);
}

void print_row(const Strategy& strategy, const Pair& pair) {
  const double peak = median(pair.pytorch.peak_mb);
  std::cout << fmt::format(
                   "| {} | {} | {} | {} | {} | {:.0f} | {:.0f} | {:.2f} | {:.0f} | {:.0f} | {:.4f} "
                   "| {:.4f} |\n",
                   strategy.name,
                   strategy.in_pytorch,
                   spread(pair.pytorch.tokens_per_second),
                   spread(pair.sheaf.tokens_per_second),
                   speed_ratio(pair),
                   peak,
                   median(pair.sheaf.peak_mb),
                   median(pair.sheaf.peak_mb) / peak,
                   median(pair.pytorch.start_mb),
                   median(pair.sheaf.start_mb),
                   pair.pytorch.loss,
                   pair.sheaf.loss)
            << std::flush;
}

}  // namespace

void compare(const CompareOptions& options) {
  print_head(options);
  for (const Strategy& strategy : kStrategies) {
    if (!options.only.empty() && options.only != strategy.name) continue;
    print_row(strategy, run_both(options, strategy));
  }
}

}  // namespace sheaf::bench
