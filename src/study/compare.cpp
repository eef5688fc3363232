#include "study/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

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

/// The highest of all ranks; while a run goes on only the first rank's is known.
double highest(const RunFiles& run, const char* key) {
  double most = 0;
  if (run.end) {
    for (const Json& rank : (*run.end)["memory"]) most = std::max(most, rank[key].get<double>());
  } else if (!run.steps.empty()) {
    most = run.steps.back()["memory"].value(key, 0.0);
  }
  return most;
}

Json figures_of(const RunFiles& run) {
  const auto seconds = counted_seconds(run);
  const Json last = run.steps.empty() ? Json::object() : run.steps.back();
  const Json& from = run.end ? *run.end : last;
  return {{"model", run.start["model"]},
          {"strategy", run.start["strategy"]},
          {"ranks", run.start["ranks"]},
          {"precision", run.start["precision"]},
          {"batch", run.start["batch"]},
          {"items", run.start["items"]},
          {"finished", run.end.has_value()},
          {"steps", last.value("step", 0)},
          {"first_loss", run.steps.empty() ? Json() : run.steps.front()["loss"]},
          {"last_loss", last.value("loss", Json())},
          {"items_per_second",
           from.value(run.end ? "items_per_second" : "mean_items_per_second", Json())},
          {"mfu", from.value(run.end ? "mfu" : "mean_mfu", Json())},
          {"step_seconds", {{"median", quantile(seconds, 0.5)}, {"p95", quantile(seconds, 0.95)}}},
          {"elapsed_seconds", from.value("elapsed_seconds", Json())},
          {"peak_allocated", highest(run, "peak_allocated")},
          {"peak_resident", highest(run, "peak_resident")},
          {"phases", run.end ? (*run.end)["phases"] : Json()},
          {"counted_steps", seconds.size()}};
}

Json curves_of(const RunFiles& run) {
  Json steps = Json::array();
  Json losses = Json::array();
  Json speeds = Json::array();
  for (const Json& step : run.steps) {
    steps.push_back(step["step"]);
    losses.push_back(step["loss"]);
    speeds.push_back(step["items_per_second"]);
  }
  return {{"steps", steps}, {"losses", losses}, {"items_per_second", speeds}};
}

/// Options of a run by their names; none where its configuration is not there.
Json options_of(const fs::path& folder) {
  Json options = Json::object();
  if (!fs::exists(folder / "config.toml")) return options;
  train::RunOptions run;
  std::vector<Field> fields = fields_of(run);
  read_toml_file(folder / "config.toml", fields);
  for (const Field& field : fields) options[field.path()] = field.literal();
  return options;
}

/// A row for each option that is not the same in all runs; where the logs go never is.
Json differences_of(const std::vector<Json>& options) {
  Json rows = Json::array();
  for (const auto& item : options.front().items()) {
    const std::string& key = item.key();
    if (key == "log.dir") continue;
    Json values = Json::array();
    for (const Json& each : options) values.push_back(each.value(key, ""));
    const bool same =
        std::ranges::all_of(values, [&](const Json& value) { return value == item.value(); });
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
    runs.push_back(row);
    options.push_back(options_of(folders[i]));
  }
  return {{"runs", runs}, {"options", differences_of(options)}};
}

}  // namespace sheaf::study
