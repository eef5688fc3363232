#include <fmt/format.h>

#include <algorithm>

#include "sheaf/base/memory_purpose.h"
#include "study/report/blocks.h"
#include "study/report/sections.h"

namespace sheaf::study {
namespace {

bool measured(const Json& report) { return report.is_object() && report.contains("measured"); }

/// One rank first, then the strategies that were measured.
std::vector<std::string> names_in(const Json& memory) {
  std::vector<std::string> names;
  for (const auto& [name, report] : memory.items()) {
    if (measured(report)) names.push_back(name);
  }
  return names;
}

Json purpose_chart(const Json& memory) {
  const auto names = names_in(memory);
  Json all = Json::array();
  int color = 0;
  for (const memory::Purpose purpose : memory::all_purposes()) {
    const std::string key(name(purpose));
    Json is = Json::array();
    Json should_be = Json::array();
    for (const std::string& strategy : names) {
      const Json& report = memory[strategy];
      is.push_back(
          scaled(report["measured"].value("at_peak", Json::object()), key.c_str(), 1 / kMiB));
      const Json predicted = report.value("predicted", Json());
      should_be.push_back(
          predicted.is_null() ? Json() : scaled(predicted["at_peak"], key.c_str(), 1 / kMiB));
    }
    Json left = series(key, is);
    left.update({{"stack", "measured"}, {"color", color}});
    Json right = series(key + ", predicted", should_be);
    right.update({{"stack", "predicted"}, {"color", color}, {"faint", true}, {"unlisted", true}});
    all.push_back(left);
    all.push_back(right);
    ++color;
  }
  Json chart = bars({.title = "Memory at the peak, by purpose",
                     .unit = "MiB on rank 0",
                     .labels = names,
                     .series = all,
                     .stacked = true,
                     .note = "Left bars are measured, the paler ones on their right predicted "
                             "before anything ran."});
  chart["tall"] = true;
  return chart;
}

Json peak_table(const Json& memory) {
  Json rows = Json::array();
  for (const std::string& strategy : names_in(memory)) {
    const Json& report = memory[strategy];
    const Json& is = report["measured"];
    const Json predicted = report.value("predicted", Json());
    const Json at_peak = is.value("at_peak", Json::object());
    Json row = Json::array({strategy,
                            scaled(predicted, "peak", 1 / kMiB),
                            scaled(is, "peak", 1 / kMiB),
                            scaled(report, "error", 100)});
    for (const memory::Purpose purpose : memory::all_purposes()) {
      row.push_back(scaled(at_peak, std::string(name(purpose)).c_str(), 1 / kMiB));
    }
    row.push_back(scaled(is, "reserved", 1 / kMiB));
    row.push_back(scaled(is, "resident_peak", 1 / kMiB));
    rows.push_back(row);
  }
  Json columns = Json::array({words("strategy"),
                              numbers("predicted", "MiB", 1),
                              numbers("peak", "MiB", 1),
                              numbers("error", "%", 1)});
  for (const memory::Purpose purpose : memory::all_purposes()) {
    columns.push_back(numbers(std::string(name(purpose)), "MiB", 1));
  }
  columns.push_back(numbers("reserved", "MiB", 0));
  columns.push_back(numbers("whole process", "MiB", 0));
  return table({.title = "From the estimate to what was there",
                .note = "Reserved is what the allocator took from the system; the whole process "
                        "has the program and its libraries, too."},
               columns,
               rows);
}

Json timeline_chart(const std::string& strategy, const Json& report) {
  const Json moments = report["measured"]["timeline"];
  Json all = Json::array();
  for (const memory::Purpose purpose : memory::all_purposes()) {
    const std::string key(name(purpose));
    Json points = Json::array();
    for (const Json& moment : moments) {
      points.push_back({{"x", moment["seconds"].get<double>() * 1000},
                        {"y", moment["bytes"].value(key, 0.0) / kMiB}});
    }
    Json area = curve(key, points);
    area["fill"] = true;
    all.push_back(area);
  }
  return lines({.title = fmt::format("Memory within one step, {}", strategy),
                .x = "ms since the step began",
                .y = "MiB on rank 0",
                .series = all,
                .stacked = true});
}

/// On the CPU, where every allocation is seen: of one rank and of the strategy that cuts most.
Json timelines(const Json& memory) {
  Json charts = Json::array();
  const auto names = names_in(memory);
  const auto has_timeline = [&](const std::string& name) {
    return !memory[name]["measured"].value("timeline", Json::array()).empty();
  };
  if (!names.empty() && has_timeline(names.front())) {
    charts.push_back(timeline_chart(names.front(), memory[names.front()]));
  }
  const auto cut = std::ranges::find(names, "zero3");
  const std::string last = cut != names.end() ? *cut : (names.empty() ? "" : names.back());
  if (names.size() > 1 && has_timeline(last)) charts.push_back(timeline_chart(last, memory[last]));
  if (charts.size() == 2) return Json::array({pair(charts[0], charts[1])});
  return charts;
}

/// Of a GPU's allocator; nothing on the CPU.
Json segments_table(const Json& memory) {
  Json rows = Json::array();
  for (const std::string& strategy : names_in(memory)) {
    const Json& is = memory[strategy]["measured"];
    if (!is.contains("segments")) continue;
    rows.push_back({strategy,
                    is["segments"],
                    scaled(is, "reserved", 1 / kMiB),
                    scaled(is, "active_peak", 1 / kMiB),
                    scaled(is, "unusable", 1 / kMiB),
                    is["retries"]});
  }
  return table({.title = "Segments and allocator",
                .note = "The allocator's whole history is in memory/STRATEGY/snapshot.pickle, "
                        "which memory_viz opens."},
               {words("strategy"),
                numbers("segments", "", 0),
                numbers("reserved", "MiB", 0),
                numbers("active peak", "MiB", 0),
                numbers("unusable", "MiB", 1),
                numbers("retries", "", 0)},
               rows);
}

}  // namespace

Json memory_section(const Json& data) {
  const Json& memory = data["memory"];
  Json blocks = Json::array({purpose_chart(memory), peak_table(memory)});
  for (const Json& chart : timelines(memory)) blocks.push_back(chart);
  const Json segments = segments_table(memory);
  if (!segments["rows"].empty()) blocks.push_back(segments);
  return section({.id = "memory",
                  .title = "Memory",
                  .shortened = "Memory",
                  .text = "Every byte belongs to a purpose. The prediction walks through a step "
                          "tensor by tensor; the measurement counts what the allocator gave."},
                 blocks);
}

}  // namespace sheaf::study
