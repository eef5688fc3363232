#include <fmt/format.h>

#include <algorithm>

#include "sheaf/base/memory_purpose.h"
#include "study/report/blocks.h"
#include "study/report/sections.h"
#include "train/figures.h"

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

/// Bytes for each purpose, of what `at_peak` returns for a strategy's report, and their sum.
Json purposes_table(const TableText& text, const Json& memory, const auto& at_peak) {
  Json rows = Json::array();
  for (const std::string& strategy : names_in(memory)) {
    const Json bytes = at_peak(memory[strategy]);
    if (!bytes.is_object()) continue;
    Json row = Json::array({strategy});
    double sum = 0;
    for (const memory::Purpose purpose : memory::all_purposes()) {
      const std::string key(name(purpose));
      row.push_back(scaled(bytes, key.c_str(), 1 / kMiB));
      sum += bytes.value(key, 0.0);
    }
    row.push_back(sum / kMiB);
    rows.push_back(row);
  }
  Json columns = Json::array({words("strategy")});
  for (const memory::Purpose purpose : memory::all_purposes()) {
    columns.push_back(numbers(std::string(name(purpose)), "MiB", 1));
  }
  columns.push_back(numbers("in all", "MiB", 1));
  return table(text, columns, rows);
}

Json estimate_table(const Json& memory) {
  return purposes_table(
      {.title = "Estimate by purpose",
       .note = "At the predicted peak, rank 0. The optimizer's share is that of its states: two "
               "moments of Adam, as large as the parameters each."},
      memory,
      [](const Json& report) {
        const Json predicted = report.value("predicted", Json());
        return predicted.is_object() ? predicted["at_peak"] : Json();
      });
}

Json measured_table(const Json& memory) {
  return purposes_table(
      {.title = "Measured by purpose", .note = "At the peak, rank 0."},
      memory,
      [](const Json& report) { return report["measured"].value("at_peak", Json()); });
}

/// From what formulas of parameters, gradients and states say to what the system has given.
Json difference_row(const std::string& strategy, const Json& report) {
  const Json& is = report["measured"];
  const Json predicted = report.value("predicted", Json());
  const Json at_peak = is.value("at_peak", Json::object());
  const auto sum = [](const Json& bytes, const std::vector<const char*>& keys) {
    double all = 0;
    for (const char* key : keys) all += bytes.value(key, 0.0);
    return all / kMiB;
  };
  const bool is_known = at_peak.is_object() && !at_peak.empty();
  const auto known = [&](const std::vector<const char*>& keys) {
    return is_known ? Json(sum(at_peak, keys)) : Json();
  };
  // On a GPU the process holds the program, its allocator the tensors.
  const Json program =
      is.contains("segments")
          ? scaled(is, "resident_peak", 1 / kMiB)
          : Json((is["resident_peak"].get<double>() - is["peak"].get<double>()) / kMiB);
  return {strategy,
          predicted.is_object()
              ? Json(sum(predicted["resting"], {"parameters", "gradients", "optimizer"}))
              : Json(),
          known({"gathered", "communication"}),
          known({"activations"}),
          known({"temporary"}),
          scaled(is, "peak", 1 / kMiB),
          scaled(report, "error", 100),
          scaled(is, "reserved", 1 / kMiB),
          scaled(is, "resident_peak", 1 / kMiB),
          program};
}

Json difference_table(const Json& memory) {
  Json rows = Json::array();
  for (const std::string& strategy : names_in(memory)) {
    rows.push_back(difference_row(strategy, memory[strategy]));
  }
  return table({.title = "From the estimate to what was there",
                .note = "Reserved is what the allocator took from the system and keeps for large "
                        "tensors; the framework is the program with its libraries and start-up: "
                        "the whole process without the peak of tensors."},
               {words("strategy"),
                numbers("states", "MiB estimated", 1),
                numbers("+ exchanges", "MiB", 1),
                numbers("+ activations", "MiB", 1),
                numbers("+ temporary", "MiB", 1),
                numbers("peak", "MiB", 1),
                numbers("predicted", "% off", 1),
                numbers("reserved", "MiB", 0),
                numbers("process", "MiB", 0),
                numbers("framework", "MiB", 0)},
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
  const std::int64_t steps = report.value("steps", std::int64_t{1});
  return lines(
      {.title = fmt::format("Memory over {}, {}", train::count_text(steps, "step"), strategy),
       .x = "ms since they began",
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

}  // namespace

Json memory_section(const Json& data) {
  const Json& memory = data["memory"];
  Json blocks = Json::array({purpose_chart(memory), estimate_table(memory)});
  // A GPU's allocator does not know what its bytes are for.
  const Json by_purpose = measured_table(memory);
  if (!by_purpose["rows"].empty()) blocks.push_back(by_purpose);
  blocks.push_back(difference_table(memory));
  for (const Json& chart : timelines(memory)) blocks.push_back(chart);
  for (const Json& block : allocator_blocks(memory)) blocks.push_back(block);
  return section({.id = "memory",
                  .title = "Memory",
                  .shortened = "Memory",
                  .text = "Every byte belongs to a purpose. The prediction walks through a step "
                          "tensor by tensor; the measurement counts what the allocator gave."},
                 blocks);
}

}  // namespace sheaf::study
