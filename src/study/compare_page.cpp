#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/quoting.h"
#include "sheaf/base/table.h"
#include "sheaf/base/units.h"
#include "sheaf/base/version.h"
#include "study/compare.h"
#include "study/report/blocks.h"
#include "train/figures.h"

namespace sheaf::study {
namespace {

constexpr std::size_t kPlotWidth = 60;
constexpr std::array<const char*, 8> kBars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

std::vector<double> numbers_in(const Json& list) {
  std::vector<double> values;
  for (const Json& each : list) {
    if (each.is_number()) values.push_back(each);
  }
  return values;
}

std::string number_or_dash(const Json& value, const char* format) {
  return value.is_number() ? fmt::format(fmt::runtime(format), value.get<double>()) : "-";
}

std::string size_text(const Json& bytes) {
  return bytes.is_number() ? to_string(Bytes{bytes.get<std::int64_t>()}) : "-";
}

std::string figures_text(const Json& runs) {
  Table table({"run",
               "strategy",
               "ranks",
               "steps",
               "items/s",
               "against first",
               "ms median",
               "p95",
               "MFU",
               "peak",
               "RSS",
               "last loss",
               ""});
  const Json first = runs[0]["items_per_second"];
  for (const Json& run : runs) {
    const Json& speed = run["items_per_second"];
    const Json mfu = run["mfu"].is_number() ? Json(100 * run["mfu"].get<double>()) : Json();
    const bool both = speed.is_number() && first.is_number() && first.get<double>() > 0;
    table.add({escaped(run["name"].get<std::string>()),
               run["strategy"],
               std::to_string(run["ranks"].get<int>()),
               std::to_string(run["steps"].get<std::int64_t>()),
               speed.is_number() ? train::rate_text(speed) : "-",
               both ? fmt::format("{:.2f}", speed.get<double>() / first.get<double>()) : "-",
               number_or_dash(1000 * run["step_seconds"]["median"].get<double>(), "{:.1f}"),
               number_or_dash(1000 * run["step_seconds"]["p95"].get<double>(), "{:.1f}"),
               number_or_dash(mfu, "{:.1f} %"),
               size_text(run["peak_allocated"]),
               size_text(run["peak_resident"]),
               number_or_dash(run["last_loss"], "{:.4f}"),
               run["finished"].get<bool>() ? "" : "not ended"});
  }
  return table.str();
}

/// A line for every run, all on one scale.
std::string plots_text(const Json& runs, const char* key, const char* format) {
  double low = INFINITY;
  double high = -INFINITY;
  std::size_t width = 0;
  for (const Json& run : runs) {
    width = std::max(width, run["name"].get<std::string>().size());
    for (const double value : numbers_in(run["curves"][key])) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  std::string text;
  for (const Json& run : runs) {
    const auto values = numbers_in(run["curves"][key]);
    if (values.empty()) continue;
    text += fmt::format("  {:<{}}  {}  {} to {}\n",
                        escaped(run["name"].get<std::string>()),
                        width,
                        sparkline(values, kPlotWidth, low, high),
                        fmt::format(fmt::runtime(format), values.front()),
                        fmt::format(fmt::runtime(format), values.back()));
  }
  return text;
}

/// Says which runs' options are not known; empty where all are.
std::string unknown_options(const Json& runs) {
  std::string names;
  for (const Json& run : runs) {
    if (run["has_options"].get<bool>()) continue;
    names += (names.empty() ? "" : ", ") + run["name"].get<std::string>();
  }
  return names.empty() ? "" : fmt::format("no config.toml, so options unknown: {}", names);
}

/// What can be said of options where no two differ.
std::string no_difference(const Json& runs) {
  const auto known =
      std::ranges::count_if(runs, [](const Json& run) { return run["has_options"].get<bool>(); });
  return known < 2 ? "there are no two configurations to compare"
                   : "the configurations are the same";
}

std::string options_text(const Json& comparison) {
  const std::string unknown = unknown_options(comparison["runs"]);
  const std::string note = unknown.empty() ? "" : escaped(unknown) + "\n";
  if (comparison["options"].empty()) {
    return fmt::format("\n{}\n{}", no_difference(comparison["runs"]), note);
  }
  std::vector<std::string> header{"option"};
  for (const Json& run : comparison["runs"]) {
    header.push_back(escaped(run["name"].get<std::string>()));
  }
  Table table(header);
  for (const Json& row : comparison["options"]) {
    std::vector<std::string> cells{row["option"]};
    for (const Json& value : row["values"]) {
      cells.push_back(value.is_null() ? "-" : escaped(value.get<std::string>()));
    }
    table.add(cells);
  }
  return "\nwhat the configurations differ in\n" + table.str() + note;
}

Json curve_chart(const Json& runs, const char* key, const LineChart& text) {
  Json all = Json::array();
  for (const Json& run : runs) {
    Json points = Json::array();
    const Json& curves = run["curves"];
    for (std::size_t i = 0; i < curves["steps"].size(); ++i) {
      points.push_back({{"x", curves["steps"][i]}, {"y", curves[key][i]}});
    }
    all.push_back(curve(run["name"], points));
  }
  LineChart chart = text;
  chart.series = all;
  return lines(chart);
}

Json figures_table(const Json& runs) {
  Json rows = Json::array();
  for (const Json& run : runs) {
    rows.push_back({run["name"],
                    run["strategy"],
                    run["ranks"],
                    run["steps"],
                    run["items_per_second"],
                    scaled(run["step_seconds"], "median", 1000),
                    scaled(run["step_seconds"], "p95", 1000),
                    scaled(run, "mfu", 100),
                    scaled(run, "peak_allocated", 1 / kMiB),
                    scaled(run, "peak_resident", 1 / kMiB),
                    run["first_loss"],
                    run["last_loss"],
                    run["finished"]});
  }
  return table({.title = "Figures"},
               {words("run"),
                words("strategy"),
                numbers("ranks", "", 0),
                numbers("steps", "", 0),
                numbers(runs[0]["items"], "per second", 0),
                numbers("step, median", "ms", 1),
                numbers("step, p95", "ms", 1),
                numbers("MFU", "%", 1),
                numbers("peak per rank", "MiB", 1),
                numbers("whole process", "MiB", 0),
                numbers("first loss", "", 4),
                numbers("last loss", "", 4),
                words("ended")},
               rows);
}

Json options_table(const Json& comparison) {
  Json columns = Json::array({words("option")});
  for (const Json& run : comparison["runs"]) columns.push_back(words(run["name"]));
  Json rows = Json::array();
  for (const Json& each : comparison["options"]) {
    Json row = Json::array({each["option"]});
    for (const Json& value : each["values"]) row.push_back(value);
    rows.push_back(row);
  }
  const Json& runs = comparison["runs"];
  std::string note = rows.empty() ? no_difference(runs) : "";
  const std::string unknown = unknown_options(runs);
  if (!unknown.empty()) note += (note.empty() ? "" : "; ") + unknown;
  return table({.title = "What the configurations differ in", .note = note}, columns, rows);
}

}  // namespace

std::string sparkline(const std::vector<double>& values,
                      std::size_t width,
                      double low,
                      double high) {
  const std::size_t count = std::min(width, values.size());
  std::string line;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = i * values.size() / count;
    const std::size_t end = (i + 1) * values.size() / count;
    double sum = 0;
    for (std::size_t k = begin; k < end; ++k) sum += values[k];
    const double mean = sum / static_cast<double>(end - begin);
    const double height = high > low ? (mean - low) / (high - low) : 0;
    line += kBars[static_cast<std::size_t>(std::clamp(std::lround(7 * height), 0L, 7L))];
  }
  return line;
}

std::string compare_page(const Json& comparison) {
  const Json& runs = comparison["runs"];
  return fmt::format("{}\nloss\n{}\n{} per second\n{}{}",
                     figures_text(runs),
                     plots_text(runs, "losses", "{:.4f}"),
                     runs[0]["items"].get<std::string>(),
                     plots_text(runs, "items_per_second", "{:.0f}"),
                     options_text(comparison));
}

Json compare_report(const Json& comparison) {
  const Json& runs = comparison["runs"];
  Json loss = curve_chart(
      runs, "losses", {.title = "Loss by step", .x = "step", .y = "loss", .series = {}});
  loss["y"]["free"] = true;
  loss["digits"] = 4;
  Json speed = curve_chart(runs,
                           "items_per_second",
                           {.title = "Speed by step",
                            .x = "step",
                            .y = runs[0]["items"].get<std::string>() + " per second",
                            .series = {}});
  speed["digits"] = 0;
  Json labels = Json::array();
  Json peaks = Json::array();
  Json cards = Json::array();
  for (const Json& run : runs) {
    labels.push_back(run["name"]);
    peaks.push_back(scaled(run, "peak_allocated", 1 / kMiB));
    cards.push_back({{"label", run["name"]},
                     {"value", run["items_per_second"]},
                     {"unit", run["items"].get<std::string>() + "/s"},
                     {"digits", 0}});
  }
  const Json memory = bars({.title = "Peak memory per rank",
                            .unit = "MiB",
                            .labels = labels,
                            .series = Json::array({series("tensors", peaks)})});
  return {{"title", "Runs side by side"},
          {"lead", fmt::format("{} runs", runs.size())},
          {"figures", cards},
          {"sections",
           Json::array({section({.id = "runs", .title = "Runs", .shortened = "Runs", .text = ""},
                                {figures_table(runs), pair(loss, speed), memory}),
                        section({.id = "options",
                                 .title = "Configurations",
                                 .shortened = "Configurations",
                                 .text = ""},
                                Json::array({options_table(comparison)}))})},
          {"footer", fmt::format("Made by sheaf {}.", version())}};
}

}  // namespace sheaf::study
