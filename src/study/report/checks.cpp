#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "study/report/blocks.h"
#include "study/report/mfu_band.h"
#include "study/report/sections.h"
#include "train/figures.h"

namespace sheaf::study {
namespace {

// Strategies this near to the fastest count as equally fast: runs differ by as much.
constexpr double kEquallyFast = 0.97;
// From which ratio of the 95th percentile to the median a run counts as disturbed.
constexpr double kDisturbed = 2;
// How much faster than one rank each of several may be: caches grow with them.
constexpr double kTooFast = 1.5;

Json check(const Json& ok, const std::string& text) { return {{"ok", ok}, {"text", text}}; }

bool all_have(const Json& each_strategy, const char* key) {
  return std::ranges::all_of(
      each_strategy, [&](const Json& each) { return each.is_object() && each.contains(key); });
}

Json backend_check(const Json& data) {
  const Json& environment = data["strategies"][0].value("environment", Json());
  if (!environment.is_object()) return check(nullptr, "backend: no strategy ran");
  const std::string backend = environment["run"]["backend"];
  const bool on_gpu = data["settings"]["device"] == "cuda";
  const bool right = on_gpu ? backend == "nccl" || backend == "one_gpu" : backend == "shared";
  return check(right,
               fmt::format("backend {}{}",
                           backend,
                           right    ? ", the fastest for these devices"
                           : on_gpu ? ": nccl would be faster"
                                    : ": shared memory would be faster"));
}

Json seed_check(const Json& data) {
  const Json& expected = data["baseline"]["first_loss"];
  bool same = expected.is_number();
  for (const Json& row : data["strategies"]) {
    if (!finished(row)) continue;
    const Json& loss = row["first_loss"];
    same = same && loss.is_number() &&
           std::abs(loss.get<double>() - expected.get<double>()) <= 1e-4 * expected.get<double>();
  }
  return check(same,
               fmt::format("same seed ({}), weights and samples: first losses {}",
                           data["settings"]["seed"].get<std::int64_t>(),
                           same ? "agree" : "DIFFER"));
}

void add_problems(Json& items, const Json& rows, const char* name) {
  for (const Json& row : rows) {
    for (const Json& problem : row["problems"]) {
      items.push_back(check(
          false, fmt::format("{}: {}", row[name].get<std::string>(), problem.get<std::string>())));
    }
  }
}

Json problem_checks(const Json& data) {
  Json items = Json::array();
  add_problems(items, data["strategies"], "strategy");
  add_problems(items, data["gains"], "name");
  add_problems(items, data["pytorch"], "name");
  if (items.empty()) {
    items.push_back(check(true, "weights are the same on all ranks, and losses those of one rank"));
  }
  return items;
}

Json accumulation_check(const Json& data) {
  const Json& settings = data["settings"];
  const std::int64_t share =
      settings["global_batch"].get<std::int64_t>() / settings["ranks"].get<std::int64_t>();
  const std::int64_t passes = share / std::max<std::int64_t>(1, settings["micro_batch"]);
  if (passes <= 1) return check(nullptr, "no accumulation: one pass per step and rank");
  const bool keeps = settings["no_sync"] == "keep";
  return check(keeps,
               fmt::format("{} passes per step, gradients exchanged {}",
                           passes,
                           keeps ? "once" : "after each (shard.no_sync = \"reduce\")"));
}

/// Runs in which something else took the processor: some steps took much longer than most, or
/// several ranks were faster than so many can be, so that the one rank alone was too slow.
std::vector<std::string> disturbed_runs(const Json& data) {
  std::vector<std::string> names;
  const auto look_at = [&](const Json& row, bool too_slow) {
    if (!finished(row)) return;
    const Json& seconds = row["step_seconds"];
    if (too_slow || seconds["p95"].get<double>() > kDisturbed * seconds["median"].get<double>()) {
      names.push_back(row["strategy"]);
    }
  };
  const double most = kTooFast * data["settings"]["ranks"].get<double>();
  look_at(data["baseline"], std::ranges::any_of(data["strategies"], [&](const Json& row) {
            return row.value("speed_up", 0.0) > most;
          }));
  for (const Json& row : data["strategies"]) look_at(row, false);
  return names;
}

Json quiet_check(const Json& data) {
  const auto names = disturbed_runs(data);
  if (names.empty()) {
    return check(true, "the machine was quiet: steps of a run took about the same time");
  }
  return check(false,
               fmt::format("the machine was busy during the run of {}: do not trust speeds, and "
                           "make the study again in a quiet moment, with another --out",
                           fmt::join(names, ", ")));
}

Json mfu_check(const Json& best) {
  const Json mfu = best.is_object() ? best["mfu"] : Json();
  if (!mfu.is_number()) return check(nullptr, "MFU: the peak speed of these devices is not known");
  return check(mfu.get<double>() >= 0.3,
               fmt::format("MFU of {} {:.1f} %: {}",
                           best["strategy"].get<std::string>(),
                           100 * mfu.get<double>(),
                           mfu_band(mfu).get<std::string>()));
}

Json verdict_rows(const Json& data) {
  Json rows = Json::array();
  for (const auto& [name, profile] : data["profiles"].items()) {
    for (const Json& verdict : profile.value("verdicts", Json::array())) {
      rows.push_back({name, verdict["passed"], verdict["text"], verdict["advice"]});
    }
  }
  return rows;
}

Json commands(const Json& data) {
  std::vector<std::string> texts;
  const auto add = [&](const Json& row) {
    if (!row.contains("command")) return;
    std::string text;
    for (const Json& word : row["command"])
      text += (text.empty() ? "" : " ") + word.get<std::string>();
    texts.push_back(text);
  };
  add(data["baseline"]);
  for (const Json& row : data["strategies"]) add(row);
  for (const auto& [name, profile] : data["profiles"].items()) add(profile);
  for (const auto& [name, report] : data["memory"].items()) add(report);
  for (const Json& row : data["sweep"]["rows"]) add(row);
  for (const Json& row : data["gains"]) add(row);
  for (const Json& row : data["pytorch"]) add(row);
  return {{"kind", "code"}, {"title", "Exact commands"}, {"lines", texts}};
}

}  // namespace

Choice choose(const Json& data) {
  const Json* fastest = nullptr;
  for (const Json& row : data["strategies"]) {
    if (!finished(row) || !row["problems"].empty()) continue;
    if (fastest == nullptr || row["items_per_second"] > (*fastest)["items_per_second"]) {
      fastest = &row;
    }
  }
  if (fastest == nullptr) return {.row = {}, .reason = "No strategy ran without a problem."};
  const Json* best = fastest;
  for (const Json& row : data["strategies"]) {
    if (!finished(row) || !row["problems"].empty()) continue;
    const double part =
        row["items_per_second"].get<double>() / (*fastest)["items_per_second"].get<double>();
    if (part >= kEquallyFast && row["memory"]["measured"] < (*best)["memory"]["measured"]) {
      best = &row;
    }
  }
  std::string reason = fmt::format(
      "Recommended: {}. It trains {} {} per second, {:.2f} times one rank, and holds "
      "{:.1f} MiB per rank at most",
      (*best)["strategy"].get<std::string>(),
      train::rate_text((*best)["items_per_second"]),
      data["start"]["items"].get<std::string>(),
      best->value("speed_up", 0.0),
      (*best)["memory"]["measured"].get<double>() / kMiB);
  if (best != fastest) {
    reason += fmt::format("; {} is {:.1f} % faster but holds {:.1f} MiB",
                          (*fastest)["strategy"].get<std::string>(),
                          100 * ((*fastest)["items_per_second"].get<double>() /
                                     (*best)["items_per_second"].get<double>() -
                                 1),
                          (*fastest)["memory"]["measured"].get<double>() / kMiB);
  } else {
    reason += ", the least of all that are within 3 % of its speed";
  }
  return {.row = *best, .reason = reason + "."};
}

Json checks_section(const Json& data) {
  Json items = Json::array({backend_check(data), seed_check(data), accumulation_check(data)});
  for (const Json& item : problem_checks(data)) items.push_back(item);
  items.push_back(check(data["settings"]["unit_per_block"],
                        data["settings"]["unit_per_block"].get<bool>()
                            ? "zero3 gathers one block at a time"
                            : "zero3's units follow shard.min_parameters, not the blocks"));
  items.push_back(mfu_check(choose(data).row));
  items.push_back(quiet_check(data));
  items.push_back(check(all_have(data["profiles"], "ranks"), "every strategy was profiled"));
  items.push_back(check(all_have(data["memory"], "measured"), "memory was measured by purpose"));
  return section(
      {.id = "checks",
       .title = "Configuration checklist",
       .shortened = "Checklist",
       .text = choose(data).reason},
      {Json({{"kind", "checks"}, {"title", "What this run did"}, {"items", items}}),
       table({.title = "Healthy-run thresholds",
              .note = "Compute above 97 % of the step, overlap above 95 %, less than "
                      "100 ms idle per step."},
             {words("strategy"), words("passed"), words("measured"), words("what to try")},
             verdict_rows(data))});
}

Json environment_section(const Json& data) {
  const Json& environment = data["baseline"]["environment"];
  Json rows = Json::array();
  for (const char* group : {"versions", "machine"}) {
    for (const auto& [key, value] : environment[group].items()) {
      rows.push_back({key, value.is_string() ? value : Json(value.dump())});
    }
  }
  for (const char* key : {"model", "parameters", "precision", "data", "batch", "peak_source"}) {
    const Json& value = data["start"][key];
    rows.push_back({key, value.is_string() ? value : Json(value.dump())});
  }
  rows.push_back({"time", environment["time"]});
  return section(
      {.id = "environment",
       .title = "Environment and commands",
       .shortened = "Environment",
       .text = "All that a number here depends on, and how to get it again."},
      {table({.title = "Environment"}, {words("what"), words("value")}, rows), commands(data)});
}

}  // namespace sheaf::study
