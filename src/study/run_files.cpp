#include "study/run_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "sheaf/base/error.h"
#include "study/files.h"

namespace sheaf::study {
namespace {

namespace fs = std::filesystem;

Json parse_or_null(const std::string& text) {
  Json parsed = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return parsed.is_object() ? parsed : Json();
}

void add_step(std::vector<Json>& steps, Json line) {
  while (!steps.empty() && steps.back().value("step", 0) >= line.value("step", 0)) {
    steps.pop_back();
  }
  steps.push_back(std::move(line));
}

/// A start that follows a part of the same run goes on with it; another begins anew.
void begin(RunFiles& run, Json line) {
  const std::int64_t first = line.value("first_step", std::int64_t{0});
  const bool goes_on =
      !run.steps.empty() && first > 0 && run.steps.back().value("step", std::int64_t{0}) >= first;
  if (!goes_on) run.steps.clear();
  run.end.reset();
  run.start = std::move(line);
}

void take_line(RunFiles& run, const std::string& text) {
  Json line = parse_or_null(text);
  if (line.is_null()) return;
  const std::string event = line.value("event", "");
  if (event == "start")
    begin(run, std::move(line));
  else if (event == "step")
    add_step(run.steps, std::move(line));
  else if (event == "end")
    run.end = std::move(line);
}

}  // namespace

RunFiles read_run(const fs::path& folder) {
  std::ifstream metrics(folder / "metrics.jsonl");
  if (!metrics) {
    throw UsageError(
        fmt::format("there is no run in {}: it has no metrics.jsonl", folder.string()));
  }
  RunFiles run{.folder = folder.string(), .start = {}, .steps = {}, .end = {}, .environment = {}};
  for (std::string line; std::getline(metrics, line);) take_line(run, line);
  if (run.start.is_null()) {
    throw UsageError(fmt::format("{}/metrics.jsonl tells of no run", folder.string()));
  }
  if (fs::exists(folder / "environment.json")) {
    run.environment = parse_or_null(read_file(folder / "environment.json"));
  }
  return run;
}

std::vector<double> counted_seconds(const RunFiles& run) {
  std::size_t counted = run.steps.size();
  if (run.end) counted = std::min(counted, run.end->value("counted_steps", counted));
  std::vector<double> seconds;
  for (std::size_t i = run.steps.size() - counted; i < run.steps.size(); ++i) {
    seconds.push_back(run.steps[i].value("seconds", 0.0));
  }
  return seconds;
}

double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double place = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - std::floor(place));
}

}  // namespace sheaf::study
