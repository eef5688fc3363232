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
  side.loss = line.at("loss");
}

std::string arguments_of(const CompareOptions& options, const Contest& contest) {
  return fmt::format("--strategy {} --steps {} --warm-up {} --batch {} --learning-rate {}",
                     contest.strategy.name,
                     options.run.steps,
                     options.run.warm_up,
                     batch_per_rank(options.run, contest.ranks),
                     options.run.learning_rate);
}

std::string with_threads(const Contest& contest, const std::string& command) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return fmt::format("OMP_NUM_THREADS={} {}", std::max(1, cores / contest.ranks), command);
}

std::string pytorch_command(const CompareOptions& options, const Contest& contest) {
  return with_threads(
      contest,
      fmt::format("{} -m torch.distributed.run --standalone --nproc-per-node {} {} {}",
                  options.python,
                  contest.ranks,
                  options.peer,
                  arguments_of(options, contest)));
}

std::string sheaf_command(const CompareOptions& options, const Contest& contest) {
  return with_threads(contest,
                      fmt::format("{} --ranks {} --model {} {}",
                                  options.program,
                                  contest.ranks,
                                  options.run.model,
                                  arguments_of(options, contest)));
}

struct Pair {
  Side pytorch;
  Side sheaf;
};

/// The machine's speed drifts, so what is compared runs in turns.
Pair run_both(const CompareOptions& options, const Contest& contest) {
  Pair pair;
  for (int i = 0; i < options.repetitions; ++i) {
    run(pytorch_command(options, contest), pair.pytorch);
    run(sheaf_command(options, contest), pair.sheaf);
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
