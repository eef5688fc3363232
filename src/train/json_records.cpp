#include "train/json_records.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sheaf/base/version.h"

namespace sheaf::train {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no NaN and no infinity, and a run that diverges is worth a line that says so.
void put(Json& object, const std::string& key, double value) {
  if (std::isfinite(value)) {
    object[key] = value;
  } else {
    object[key] = nullptr;
    object[key + "_text"] = fmt::format("{}", value);
  }
}

void put(Json& object, const std::string& key, const std::optional<double>& value) {
  if (value) {
    put(object, key, *value);
  } else {
    object[key] = nullptr;
  }
}

Json phases_json(const PhaseTimes& phases) {
  return {{"data_wait", phases.data_wait.count()},
          {"forward", phases.forward.count()},
          {"backward", phases.backward.count()},
          {"exposed_communication", phases.exposed_communication.count()},
          {"optimizer", phases.optimizer.count()},
          {"idle", phases.idle.count()},
          {"hidden_communication", phases.hidden_communication.count()}};
}

void put_exchanged(Json& row, const profile::Exchanged& exchanged) {
  row["calls"] = exchanged.calls;
  row["bytes"] = exchanged.bytes.count;
  row["seconds"] = exchanged.time.count();
}

Json collectives_json(const std::vector<profile::CollectiveUse>& uses) {
  Json rows = Json::array();
  for (const profile::CollectiveUse& use : uses) {
    Json row = {{"collective", use.collective}, {"purpose", use.purpose}};
    put_exchanged(row, use.exchanged);
    rows.push_back(row);
  }
  return rows;
}

Json units_json(const std::vector<profile::UnitUse>& units) {
  Json rows = Json::array();
  for (const profile::UnitUse& unit : units) {
    Json row = {{"unit", unit.unit},
                {"forward", unit.forward.count()},
                {"backward", unit.backward.count()},
                {"gathers", Json::object()},
                {"reduces", Json::object()}};
    put_exchanged(row["gathers"], unit.gathers);
    put_exchanged(row["reduces"], unit.reduces);
    rows.push_back(row);
  }
  return rows;
}

/// All is null where nobody has kept account.
void put_account(Json& line, const profile::Account& account) {
  const bool is_kept = account.times.total().count() > 0;
  line["phases"] = is_kept ? phases_json(account.times) : Json();
  line["collectives"] = is_kept ? collectives_json(account.collectives) : Json();
  line["units"] = is_kept ? units_json(account.units) : Json();
}

Json spreads_json(const std::vector<profile::Spread>& spreads) {
  Json rows = Json::array();
  for (const profile::Spread& spread : spreads) {
    rows.push_back({{"exchange", spread.what},
                    {"calls", spread.calls},
                    {"mean_seconds", spread.mean.count()},
                    {"longest_seconds", spread.longest.count()},
                    {"last_rank", spread.last_rank}});
  }
  return rows;
}

Json straggler_json(const std::optional<profile::Straggler>& straggler) {
  if (!straggler) return {};
  return {{"rank", straggler->rank},
          {"phase", straggler->phase},
          {"excess_seconds", straggler->excess.count()},
          {"share", straggler->share}};
}

Json memory_json(const MemoryUse& memory) {
  return {{"allocated", memory.allocated.count},
          {"peak_allocated", memory.peak_allocated.count},
          {"peak_active", memory.peak_active.count},
          {"reserved", memory.reserved.count},
          {"resident", memory.resident.count},
          {"peak_resident", memory.peak_resident.count}};
}

Json evaluation_json(const RunInfo& info, const EvaluationRecord& evaluation) {
  Json line = {{"step", evaluation.step}, {"epoch", evaluation.epoch}};
  put(line, "loss", evaluation.loss);
  put(line, "accuracy", evaluation.accuracy);
  line[info.item_name] = evaluation.items;
  line["seconds"] = evaluation.time.count();
  return line;
}

void put_progress(Json& line, const Progress& progress) {
  line["counted_steps"] = progress.counted_steps;
  put(line, "items_per_second", progress.items_per_second);
  put(line, "items_per_second_per_device", progress.items_per_second_per_device);
  put(line, "steps_per_second", progress.steps_per_second);
  put(line, "achieved_flops", progress.achieved_flops);
  put(line, "peak_flops", progress.peak_flops);
  put(line, "mfu", progress.mfu);
  line["mfu_band"] = progress.mfu ? Json(mfu_band(*progress.mfu)) : Json();
  line["elapsed_seconds"] = progress.elapsed.count();
  put(line, "cost", progress.cost);
}

void put_weights(Json& line, const std::optional<std::vector<OddWeights>>& odd) {
  line["weights_in_sync"] = odd ? Json(odd->empty()) : Json();
  line["odd_weights"] = Json::array();
  if (!odd) return;
  for (const OddWeights& each : *odd) {
    line["odd_weights"].push_back({{"rank", each.rank}, {"unit", each.unit}});
  }
}

// Texts of a model and names of files need not be UTF-8.
std::string as_line(const Json& line) {
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

double items_per_second_of(const StepRecord& step) {
  return step.time.count() > 0 ? static_cast<double>(step.items) / step.time.count() : 0;
}

std::optional<double> mfu_of(const RunInfo& info, const StepRecord& step) {
  const double peak = info.peak_flops_per_device * info.devices;
  if (peak <= 0) return std::nullopt;
  return items_per_second_of(step) * info.flops_per_item / peak;
}

std::string start_line(const RunInfo& info, const std::string& time) {
  Json memory = Json::object();
  for (const auto& [purpose, bytes] : info.memory) memory[purpose] = bytes.count;
  Json line = {{"event", "start"},
               {"time", time},
               {"sheaf", version()},
               {"items", info.item_name},
               {"model", info.model},
               {"parameters", info.parameters},
               {"flops_per_item", info.flops_per_item},
               {"ranks", info.ranks},
               {"devices", info.devices},
               {"strategy", info.strategy},
               {"backend", info.backend},
               {"device", info.device},
               {"mesh", info.mesh},
               {"precision", info.precision},
               {"data", info.data},
               {"batch", info.batch},
               {"steps", info.steps},
               {"first_step", info.first_step},
               {"planned_memory", memory},
               {"peak_flops_per_device", info.peak_flops_per_device},
               {"peak_source", info.peak_source}};
  return as_line(line);
}

std::string step_line(const RunInfo& info, const StepRecord& step, const Progress& progress) {
  Json line = {{"event", "step"}, {"step", step.step}, {"epoch", step.epoch}};
  put(line, "loss", step.loss);
  put(line, "learning_rate", step.learning_rate);
  put(line, "gradient_norm", step.gradient_norm);
  line[info.item_name] = step.items;
  line["seconds"] = step.time.count();
  put(line, "items_per_second", items_per_second_of(step));
  put(line, "mfu", mfu_of(info, step));
  put(line, "mean_items_per_second", progress.items_per_second);
  put(line, "mean_mfu", progress.mfu);
  line["elapsed_seconds"] = progress.elapsed.count();
  line["remaining_seconds"] = progress.remaining.count();
  put(line, "cost", progress.cost);
  put_account(line, {.times = step.phases, .collectives = step.collectives, .units = step.units});
  line["memory"] = memory_json(step.memory);
  line["sample_hash"] = fmt::format("{:016x}", step.sample_hash);
  line["skipped"] = step.skipped;
  return as_line(line);
}

std::string evaluation_line(const RunInfo& info, const EvaluationRecord& evaluation) {
  Json line = {{"event", "evaluation"}};
  line.update(evaluation_json(info, evaluation));
  return as_line(line);
}

std::string sample_line(std::int64_t step, const std::string& text) {
  return as_line({{"event", "sample"}, {"step", step}, {"text", text}});
}

std::string end_line(const RunInfo& info, const Summary& summary) {
  Json line = {{"event", "end"}, {"steps", summary.steps}};
  line["interrupted"] = summary.interrupted.empty() ? Json() : Json(summary.interrupted);
  put(line, "first_loss", summary.first_loss);
  put(line, "last_loss", summary.last_loss);
  line["evaluation"] = summary.evaluation ? evaluation_json(info, *summary.evaluation) : Json();
  put_progress(line, summary.progress);
  put_account(
      line, {.times = summary.phases, .collectives = summary.collectives, .units = summary.units});
  line["phases_by_rank"] = Json::array();
  for (const PhaseTimes& phases : summary.phases_by_rank) {
    line["phases_by_rank"].push_back(phases_json(phases));
  }
  line["arrival_spread"] = spreads_json(summary.imbalance.spreads);
  line["straggler"] = straggler_json(summary.imbalance.straggler);
  line["memory"] = Json::array();
  for (const MemoryUse& memory : summary.memory) line["memory"].push_back(memory_json(memory));
  put_weights(line, summary.odd_weights);
  line["epoch_seconds"] = Json::array();
  for (const Seconds epoch : summary.epochs) line["epoch_seconds"].push_back(epoch.count());
  return as_line(line);
}

}  // namespace sheaf::train
