#include <fmt/format.h>

#include <algorithm>

#include "study/report/blocks.h"
#include "study/report/mfu_band.h"
#include "study/report/sections.h"

namespace sheaf::study {
namespace {

Json failed_row(const Json& row) {
  const std::string why = fmt::format("{}; {}: {}",
                                      row["meaning"].get<std::string>(),
                                      row["ending"].get<std::string>(),
                                      row.value("reason", ""));
  return {row["name"], why, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
}

/// Runs that failed are said to have; what follows them stands beside the last that did not.
Json gain_rows(const Json& gains) {
  Json rows = Json::array();
  double first = 0;
  double before = 0;
  for (const Json& row : gains) {
    if (!finished(row)) {
      rows.push_back(failed_row(row));
      continue;
    }
    const double speed = row["items_per_second"];
    if (first == 0) first = before = speed;
    rows.push_back({row["name"],
                    row["meaning"],
                    speed,
                    100 * (speed / before - 1),
                    speed / first,
                    scaled(row, "mfu", 100),
                    mfu_band(row["mfu"]),
                    scaled(row["memory"], "measured", 1 / kMiB)});
    before = speed;
  }
  return rows;
}

Json gain_chart(const Json& gains, const std::string& items) {
  Json labels = Json::array();
  Json speeds = Json::array();
  for (const Json& row : gains) {
    const std::string name = row["name"];
    labels.push_back(labels.empty() ? name : "+ " + name);
    speeds.push_back(scaled(row, "items_per_second"));
  }
  Json chart = bars({.title = "Throughput, one optimisation after the other",
                     .unit = items + " per second",
                     .labels = labels,
                     .series = Json::array({series("all ranks together", speeds)})});
  chart["digits"] = 0;
  return chart;
}

}  // namespace

Json gains_section(const Json& data) {
  const Json& gains = data["gains"];
  const std::string items = data["start"]["items"];
  const bool fused =
      std::ranges::any_of(gains, [](const Json& row) { return row["name"] == "fused layers"; });
  return section({.id = "gains",
                  .title = "What each optimisation adds",
                  .shortened = "Optimisations",
                  .text = std::string("Real runs, each with one thing more than the one before.") +
                          (fused ? "" : " The fused layers are in all rows.")},
                 {gain_chart(gains, items),
                  table({.title = "Cumulative", .note = std::string(kMfuBands)},
                        {words("added"),
                         words("what it is"),
                         numbers(items, "per second", 0),
                         numbers("gain", "% over the row above", 1),
                         numbers("in all", "times the first", 2),
                         numbers("MFU", "%", 1),
                         words("MFU is"),
                         numbers("peak per rank", "MiB", 1)},
                        gain_rows(gains))});
}

}  // namespace sheaf::study
