#include "gpu_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/command_line.h"
#include "median.h"
#include "sheaf/base/error.h"

namespace sheaf::bench {
namespace {

using nlohmann::json;

template <class Value>
double median_of(const std::vector<Figures>& runs, const Value& value) {
  std::vector<double> values;
  for (const Figures& run : runs) values.push_back(run.*value);
  return median(values);
}

/// Neighbours in time are compared with each other.
template <class Value>
double ratio(const Outcome& outcome, const Value& value) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < outcome.sheaf.size(); ++i) {
    ratios.push_back(outcome.sheaf[i].*value / outcome.pytorch[i].*value);
  }
  return median(ratios);
}

struct Exchanges {
  double compute_ms = 0;
  double exposed_ms = 0;
  /// What they take when nothing hides them.
  double all_ms = 0;
  double hidden = 0;
};

/// Returns nothing where they were not measured.
std::optional<Exchanges> exchanges_of(const Outcome& outcome) {
  if (outcome.compute.step_ms == 0) return std::nullopt;
  const double step_ms = median_of(outcome.sheaf, &Figures::step_ms);
  Exchanges exchanges{.compute_ms = outcome.compute.step_ms};
  exchanges.exposed_ms = std::max(0.0, step_ms - outcome.compute.step_ms);
  exchanges.all_ms = std::max(0.0, outcome.waited.step_ms - outcome.compute.step_ms);
  if (exchanges.all_ms > 0) {
    exchanges.hidden = std::clamp(1 - exchanges.exposed_ms / exchanges.all_ms, 0.0, 1.0);
  }
  return exchanges;
}

std::string columns_of(const std::optional<Exchanges>& exchanges) {
  if (!exchanges) return "- | - | - | -";
  return fmt::format("{:.1f} | {:.1f} | {:.1f} | {:.0f} %",
                     exchanges->compute_ms,
                     exchanges->exposed_ms,
                     exchanges->all_ms,
                     100 * exchanges->hidden);
}

std::string row(const Outcome& outcome) {
  return fmt::format(
      "| {} | {} | {} | {:.0f} | {:.0f} | {:.2f} | {:.0f} | {:.0f} | {:.2f} | {:.1f} | {} | {:.4f} "
      "| {:.4f} |\n",
      outcome.mps ? "on" : "off",
      outcome.contest.strategy.name,
      outcome.contest.strategy.in_pytorch,
      median_of(outcome.pytorch, &Figures::tokens_per_second),
      median_of(outcome.sheaf, &Figures::tokens_per_second),
      ratio(outcome, &Figures::tokens_per_second),
      median_of(outcome.pytorch, &Figures::peak_mb),
      median_of(outcome.sheaf, &Figures::peak_mb),
      ratio(outcome, &Figures::peak_mb),
      median_of(outcome.sheaf, &Figures::step_ms),
      columns_of(exchanges_of(outcome)),
      outcome.pytorch.back().loss,
      outcome.sheaf.back().loss);
}

json json_of(const Figures& run) {
  return {{"tokens_per_second", run.tokens_per_second},
          {"step_ms", run.step_ms},
          {"peak_mb", run.peak_mb},
          {"gpu_used_mb", run.gpu_used_mb},
          {"loss", run.loss},
          {"backend", run.backend}};
}

json json_of(const std::vector<Figures>& runs) {
  json list = json::array();
  for (const Figures& run : runs) list.push_back(json_of(run));
  return list;
}

json json_of(const Outcome& outcome) {
  json row{{"strategy", outcome.contest.strategy.name},
           {"ranks", outcome.contest.ranks},
           {"mps", outcome.mps},
           {"pytorch", json_of(outcome.pytorch)},
           {"sheaf", json_of(outcome.sheaf)},
           {"speed_ratio", ratio(outcome, &Figures::tokens_per_second)},
           {"memory_ratio", ratio(outcome, &Figures::peak_mb)}};
  if (const auto exchanges = exchanges_of(outcome)) {
    row["sheaf_waited"] = json_of(outcome.waited);
    row["sheaf_compute"] = json_of(outcome.compute);
    row["exposed_ms"] = exchanges->exposed_ms;
    row["exchanges_ms"] = exchanges->all_ms;
    row["hidden"] = exchanges->hidden;
  }
  return row;
}

}  // namespace

GpuTable::GpuTable(const ProgramOptions& options)
    : options_(options),
      versions_(torch_versions(options.compare.python)),
      state_before_(gpu_state()) {
  const RunOptions& run = options.compare.run;
  std::cout << fmt::format(
                   "{}\nGPU before (name, driver, SM clock, its maximum, memory clock, "
                   "temperature, power): {}\n\n{} ranks, GPT-2 {}, fp32 (no tf32), {} texts of "
                   "256 tokens per rank, {} steps after {}, {} runs of each side in turns\n\n",
                   versions_,
                   state_before_,
                   options.ranks,
                   run.size,
                   batch_per_rank(run, options.ranks),
                   run.steps,
                   run.warm_up,
                   options.compare.repetitions)
            << "| MPS | strategy | in PyTorch | tok/s PyTorch | sheaf | ratio | peak MB per rank "
               "PyTorch | sheaf | ratio | step ms | compute | exposed | exchanges | hidden | last "
               "loss | sheaf |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n"
            << std::flush;
}

void GpuTable::add(const Outcome& outcome) {
  outcomes_.push_back(outcome);
  std::cout << row(outcome) << std::flush;
  save();
}

void GpuTable::finish() {
  state_after_ = gpu_state();
  const std::string backend = outcomes_.empty() ? "" : outcomes_.back().sheaf.back().backend;
  std::cout << "\nsheaf's backend: " << backend << "\nGPU after: " << state_after_ << "\n";
  save();
}

void GpuTable::save() const {
  if (options_.json.empty()) return;
  json outcomes = json::array();
  for (const Outcome& outcome : outcomes_) outcomes.push_back(json_of(outcome));
  const json all{{"command", own_command_line()},
                 {"versions", versions_},
                 {"gpu_before", state_before_},
                 {"gpu_after", state_after_},
                 {"outcomes", outcomes}};
  std::ofstream file(options_.json);
  file << all.dump(2) << "\n";
  if (!file.flush()) throw IoError("cannot write " + options_.json);
}

}  // namespace sheaf::bench
