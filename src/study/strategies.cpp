#include "study/strategies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sheaf/plan/memory.h"
#include "sheaf/sharding/strategy.h"
#include "sheaf/train/prediction.h"
#include "study/files.h"

namespace sheaf::study {
namespace {

// How far losses may be apart, relative to them: ranks add in another order than one does.
constexpr double kTolerance = 1e-3;
constexpr double kTolerance16Bit = 3e-2;

Json traffic_of(const Json& end, double steps) {
  Json rows = Json::array();
  double calls = 0;
  double bytes = 0;
  double seconds = 0;
  for (const Json& each : end.value("collectives", Json::array())) {
    Json row = {{"collective", each["collective"]}, {"purpose", each["purpose"]}};
    for (const char* key : {"calls", "bytes", "seconds"}) {
      row[key] = each[key].get<double>() / steps;
    }
    calls += row["calls"].get<double>();
    bytes += row["bytes"].get<double>();
    seconds += row["seconds"].get<double>();
    rows.push_back(row);
  }
  return {{"calls", calls}, {"bytes", bytes}, {"seconds", seconds}, {"by_collective", rows}};
}

Json phases_of(const Json& end, double steps) {
  Json phases = Json::object();
  if (!end["phases"].is_object()) return phases;
  for (const auto& [phase, seconds] : end["phases"].items()) {
    phases[phase] = seconds.get<double>() / steps;
  }
  return phases;
}

/// The part of communication that was hidden behind computation; null without any.
Json overlap_of(const Json& phases) {
  const double hidden = phases.value("hidden_communication", 0.0);
  const double exposed = phases.value("exposed_communication", 0.0);
  return hidden + exposed > 0 ? Json(hidden / (hidden + exposed)) : Json();
}

Json memory_of(const Json& end, const train::RunOptions& options, int ranks) {
  std::int64_t peak = 0;
  std::int64_t resident = 0;
  Json by_rank = Json::array();
  for (const Json& rank : end["memory"]) {
    peak = std::max(peak, rank["peak_allocated"].get<std::int64_t>());
    resident = std::max(resident, rank["peak_resident"].get<std::int64_t>());
    by_rank.push_back(rank["peak_allocated"]);
  }
  const Json predicted = predicted_peak(options, ranks);
  Json memory = {{"measured", peak},
                 {"predicted", predicted},
                 {"error", nullptr},
                 {"resident", resident},
                 {"by_rank", by_rank}};
  if (predicted.is_number() && peak > 0) {
    memory["error"] = predicted.get<double>() / static_cast<double>(peak) - 1;
  }
  return memory;
}

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

/// Names who has other weights, and where: at most two units, for there may be many.
std::string odd_weights_text(const Json& odd) {
  std::map<std::string, std::vector<int>> by_unit;
  for (const Json& each : odd) by_unit[each["unit"]].push_back(each["rank"]);
  std::vector<std::string> parts;
  for (const auto& [unit, ranks] : by_unit) {
    if (parts.size() == 2) break;
    parts.push_back(fmt::format("{} in unit {}", ranks_text(ranks), unit));
  }
  const std::size_t left = by_unit.size() - parts.size();
  return fmt::format("weights out of sync: {}{}",
                     fmt::join(parts, "; "),
                     left > 0 ? fmt::format(" and {} more units", left) : "");
}

void judge_loss(const Json& baseline, Json& row) {
  if (!baseline["last_loss"].is_number() || !row["last_loss"].is_number()) {
    row["loss_agrees"] = false;
    row["problems"].push_back("the last loss is not finite");
    return;
  }
  const double expected = baseline["last_loss"];
  const double loss = row["last_loss"];
  const double difference = std::abs(loss - expected) / std::max(std::abs(expected), 1e-12);
  row["loss_difference"] = difference;
  const double tolerance = row["precision"] == "fp32" ? kTolerance : kTolerance16Bit;
  row["loss_agrees"] = difference <= tolerance;
  if (difference > tolerance) {
    row["problems"].push_back(
        fmt::format("loss {:.5f} instead of one rank's {:.5f}", loss, expected));
  }
}

}  // namespace

std::vector<std::string> usual_strategies(int ranks) {
  std::vector<std::string> names{"ddp:flat", "ddp", "zero1:flat", "zero1", "zero2", "zero3"};
  if (ranks >= 4 && ranks % 2 == 0) names.emplace_back("hybrid:zero3");
  return names;
}

StrategyRun one_rank(const train::RunOptions& options, int ranks, std::int64_t steps) {
  StrategyRun run{.options = options, .strategy = "ddp", .ranks = 1, .steps = steps};
  run.options.mesh = {};
  run.options.fault = {};
  if (run.options.batch.micro == 0) {
    run.options.batch.micro = (run.options.batch.global + ranks - 1) / ranks;
    run.options.batch.uneven = true;
  }
  return run;
}

train::RunOptions options_for(const StrategyRun& run) {
  train::RunOptions options = only_steps(run.options, run.steps);
  options.train.compare_weights = true;
  options.shard.stage = run.strategy;
  const bool is_hybrid = sharding::parse_strategy(run.strategy).hybrid;
  if (is_hybrid && options.mesh.replicate == 1) options.mesh = {.replicate = 2, .shard = -1};
  if (!is_hybrid) options.mesh = {};
  return options;
}

Json predicted_peak(const train::RunOptions& options, int ranks) {
  const auto planned = train::planned_run(options, ranks);
  if (!planned) return {};
  return plan::predict_memory(planned->model, planned->setting).peak.count;
}

Json measure_strategy(const StrategyRun& run, const std::filesystem::path& folder) {
  const Trial trial{.name = run.ranks == 1 ? "one_rank" : file_name(run.strategy),
                    .options = options_for(run),
                    .ranks = run.ranks};
  Json row = {{"strategy", run.ranks == 1 ? "one rank" : run.strategy}};
  row.update(row_of(run_trial(trial, folder), trial.options, run.ranks));
  return row;
}

Json row_of(const TrialResult& result, const train::RunOptions& options, int ranks) {
  Json row = {{"ranks", ranks}, {"ending", name(result.ending)}, {"command", result.command}};
  row["problems"] = Json::array();
  if (result.ending != Ending::finished) {
    row["reason"] = result.reason;
    row["problems"].push_back(fmt::format("{}: {}", name(result.ending), result.reason));
    return row;
  }
  const Json& end = *result.run.end;
  const double steps = std::max(1.0, end["counted_steps"].get<double>());
  const auto seconds = counted_seconds(result.run);
  row["precision"] = result.run.start["precision"];
  row["items"] = result.run.start["items"];
  row["items_per_second"] = end["items_per_second"];
  row["mfu"] = end["mfu"];
  const Json& start = result.run.start;
  row["peak_flops"] = start.value("peak_flops_per_device", 0.0) * start.value("devices", 1.0);
  row["counted_steps"] = end["counted_steps"];
  row["run_seconds"] = end["elapsed_seconds"];
  row["step_seconds"] = {{"median", quantile(seconds, 0.5)}, {"p95", quantile(seconds, 0.95)}};
  row["memory"] = memory_of(end, options, ranks);
  row["traffic"] = traffic_of(end, steps);
  row["phases"] = phases_of(end, steps);
  row["overlap"] = ranks > 1 ? overlap_of(row["phases"]) : Json();
  row["first_loss"] = end["first_loss"];
  row["last_loss"] = end["last_loss"];
  row["losses"] = Json::array();
  for (const Json& step : result.run.steps) row["losses"].push_back(step["loss"]);
  row["weights_in_sync"] = end["weights_in_sync"];
  if (end["weights_in_sync"] == Json(false)) {
    row["problems"].push_back(odd_weights_text(end["odd_weights"]));
  }
  row["environment"] = result.run.environment;
  return row;
}

void compare_with(const Json& baseline, Json& rows) {
  if (!baseline.contains("items_per_second")) return;
  for (Json& row : rows) {
    if (!row.contains("items_per_second")) continue;
    row["speed_up"] =
        row["items_per_second"].get<double>() / baseline["items_per_second"].get<double>();
    judge_loss(baseline, row);
  }
}

}  // namespace sheaf::study
