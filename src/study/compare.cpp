#include "study/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "sheaf/base/error.h"
#include "sheaf/base/toml.h"
#include "sheaf/train/options.h"
#include "study/run_files.h"

namespace sheaf::study {
namespace {

namespace fs = std::filesystem;

/// The last part of a path, with as many before it as tell the runs apart.
std::vector<std::string> short_names(const std::vector<std::string>& folders) {
  std::vector<std::string> names;
  for (const std::string& folder : folders) {
    const fs::path path = fs::path(folder).lexically_normal();
    names.push_back((path.has_filename() ? path : path.parent_path()).filename().string());
  }
  const std::set<std::string> distinct(names.begin(), names.end());
  return distinct.size() == names.size() ? names : folders;
}

/// A member that every run's file has: what lacks it was cut short or is of another version.
const Json& member(const RunFiles& run, const Json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end()) {
    throw UsageError(
        fmt::format("{}/metrics.jsonl has a line \"{}\" without \"{}\": was another version of "
                    "sheaf its author?",
                    run.folder,
                    line.value("event", ""),
                    key));
  }
  return *found;
}

/// The highest of all ranks; while a run goes on only the first rank's is known. Null of none.
Json highest(const RunFiles& run, const char* key) {
  if (!run.end) {
    if (run.steps.empty()) return {};
    return member(run, run.steps.back(), "memory").value(key, Json());
  }
  Json most;
  for (const Json& rank : member(run, *run.end, "memory")) {
    const Json own = rank.value(key, Json());
    if (own.is_number() && (most.is_null() || own > most)) most = own;
  }
  return most;
}

Json figures_of(const RunFiles& run) {
  const auto seconds = counted_seconds(run);
  const Json last = run.steps.empty() ? Json::object() : run.steps.back();
  const Json& from = run.end ? *run.end : last;
  Json figures;
  for (const char* key : {"model", "strategy", "ranks", "precision", "batch", "items"}) {
    figures[key] = member(run, run.start, key);
  }
  figures.update(
      {{"finished", run.end.has_value()},
       {"steps", last.value("step", 0)},
       {"first_loss", run.steps.empty() ? Json() : run.steps.front().value("loss", Json())},
       {"last_loss", last.value("loss", Json())},
       {"items_per_second",
        from.value(run.end ? "items_per_second" : "mean_items_per_second", Json())},
       {"mfu", from.value(run.end ? "mfu" : "mean_mfu", Json())},
       {"step_seconds", {{"median", quantile(seconds, 0.5)}, {"p95", quantile(seconds, 0.95)}}},
       {"elapsed_seconds", from.value("elapsed_seconds", Json())},
       {"peak_allocated", highest(run, "peak_allocated")},
       {"peak_resident", highest(run, "peak_resident")},
       {"phases", run.end ? run.end->value("phases", Json()) : Json()},
       {"counted_steps", seconds.size()}});
  return figures;
}

Json curves_of(const RunFiles& run) {
  Json steps = Json::array();
  Json losses = Json::array();
  Json speeds = Json::array();
  for (const Json& step : run.steps) {
    steps.push_back(member(run, step, "step"));
    losses.push_back(step.value("loss", Json()));
    speeds.push_back(step.value("items_per_second", Json()));
  }
  return {{"steps", steps}, {"losses", losses}, {"items_per_second", speeds}};
}

/// Options of a run by their names; null where its configuration is not there.
Json options_of(const fs::path& folder) {
  if (!fs::exists(folder / "config.toml")) return {};
  train::RunOptions run;
  std::vector<Field> fields = fields_of(run);
  read_toml_file(folder / "config.toml", fields);
  Json options = Json::object();
  for (const Field& field : fields) options[field.path()] = field.literal();
  return options;
}

/// A row for each option that is not the same in all runs whose options are known; those of others
/// are null. Where the logs go never is the same.
Json differences_of(const std::vector<Json>& options) {
  const auto known = std::ranges::find_if(options, &Json::is_object);
  Json rows = Json::array();
  if (known == options.end()) return rows;
  for (const auto& item : known->items()) {
    const std::string& key = item.key();
    if (key == "log.dir") continue;
    Json values = Json::array();
    for (const Json& each : options) values.push_back(each.is_null() ? Json() : each.at(key));
    const bool same = std::ranges::all_of(
        values, [&](const Json& value) { return value.is_null() || value == item.value(); });
    if (!same) rows.push_back({{"option", key}, {"values", values}});
  }
  return rows;
}

}  // namespace

Json compare_runs(const std::vector<std::string>& folders) {
  const auto names = short_names(folders);
  Json runs = Json::array();
  std::vector<Json> options;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const RunFiles run = read_run(folders[i]);
    Json row = {{"name", names[i]}, {"folder", folders[i]}};
    row.update(figures_of(run));
    row["curves"] = curves_of(run);
    options.push_back(options_of(folders[i]));
    row["has_options"] = options.back().is_object();
    runs.push_back(row);
  }
  return {{"runs", runs}, {"options", differences_of(options)}};
}

}  // namespace sheaf::study
