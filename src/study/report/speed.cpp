#include <fmt/format.h>

#include "study/report/blocks.h"
#include "study/report/sections.h"

namespace sheaf::study {
namespace {

/// One rank first, then the strategies.
Json all_rows(const Json& data) {
  Json rows = Json::array({data["baseline"]});
  for (const Json& row : data["strategies"]) rows.push_back(row);
  return rows;
}

Json speed_row(const Json& row) {
  if (!finished(row)) {
    return {row["strategy"],
            nullptr,
            nullptr,
            nullptr,
            nullptr,
            nullptr,
            nullptr,
            nullptr,
            nullptr,
            nullptr};
  }
  const bool alone = row["ranks"] == 1;
  return {row["strategy"],
          row["run_seconds"],
          alone ? Json(1.0) : scaled(row, "speed_up"),
          row["items_per_second"],
          row["items_per_second"].get<double>() / row["ranks"].get<double>(),
          scaled(row["step_seconds"], "median", 1000),
          scaled(row["step_seconds"], "p95", 1000),
          scaled(row, "mfu", 100),
          row["last_loss"],
          alone ? Json() : row["weights_in_sync"]};
}

Json speed_table(const Json& data) {
  Json rows = Json::array();
  for (const Json& row : all_rows(data)) rows.push_back(speed_row(row));
  const std::string items = data["start"]["items"];
  return table({.title = "Time, speed-up and throughput",
                .note = "Same initial weights, samples and global batch in every run; speeds count "
                        "the steps after the warm-up. In sync: all ranks hold the same weights "
                        "after the last step, to the last bit."},
               {words("strategy"),
                numbers("run", "s", 1),
                numbers("speed-up", "over one rank", 2),
                numbers(items, "per second", 0),
                numbers(items, "per second and rank", 0),
                numbers("step, median", "ms", 1),
                numbers("step, p95", "ms", 1),
                numbers("MFU", "%", 1),
                numbers("last loss", "", 5),
                words("in sync")},
               rows);
}

Json loss_curves(const Json& data) {
  Json all = Json::array();
  for (const Json& row : all_rows(data)) {
    if (!finished(row)) continue;
    Json points = Json::array();
    for (std::size_t i = 0; i < row["losses"].size(); ++i) {
      points.push_back({{"x", i + 1}, {"y", row["losses"][i]}});
    }
    all.push_back(curve(row["strategy"], points));
  }
  Json chart = lines({.title = "Loss by step",
                      .x = "step",
                      .y = "loss",
                      .series = all,
                      .note = "The lines lie on one another where strategies do not change the "
                              "mathematics."});
  chart["y"]["free"] = true;
  chart["x"]["whole"] = true;
  chart["digits"] = 4;
  return chart;
}

Json speed_bars(const Json& data) {
  Json labels = Json::array();
  Json speeds = Json::array();
  for (const Json& row : all_rows(data)) {
    if (!finished(row)) continue;
    labels.push_back(row["strategy"]);
    speeds.push_back(row["items_per_second"]);
  }
  Json chart = bars({.title = "Throughput by strategy",
                     .unit = data["start"]["items"].get<std::string>() + " per second",
                     .labels = labels,
                     .series = Json::array({series("all ranks together", speeds)})});
  chart["digits"] = 0;
  return chart;
}

Json sweep_points(const Json& rows, const auto& value) {
  Json points = Json::array();
  for (const Json& row : rows) {
    if (!finished(row)) continue;
    const Json y = value(row);
    if (!y.is_null()) points.push_back({{"x", row["batch"]}, {"y", y}});
  }
  return points;
}

Json sweep_table(const Json& sweep, const std::string& items) {
  Json rows = Json::array();
  Json marked = Json::array();
  for (const Json& row : sweep["rows"]) {
    if (row["batch"] == sweep["knee"]) marked.push_back(rows.size());
    const Json status = !finished(row)                  ? row["ending"]
                        : row["batch"] == sweep["knee"] ? Json("knee")
                                                        : Json("fits");
    const Json memory = row.value("memory", Json::object());
    rows.push_back({row["batch"],
                    scaled(row, "items_per_second"),
                    finished(row) ? scaled(row["step_seconds"], "median", 1000) : Json(),
                    scaled(memory, "measured", 1 / kMiB),
                    scaled(memory, "predicted", 1 / kMiB),
                    scaled(memory, "error", 100),
                    scaled(row, "mfu", 100),
                    status});
  }
  Json made = table({.title = "Micro-batch to the limit"},
                    {numbers("micro-batch", "samples", 0),
                     numbers(items, "per second", 0),
                     numbers("step", "ms", 1),
                     numbers("peak", "MiB", 1),
                     numbers("predicted", "MiB", 1),
                     numbers("error", "%", 1),
                     numbers("MFU", "%", 1),
                     words("status")},
                    rows);
  made["marked"] = marked;
  return made;
}

}  // namespace

Json speed_section(const Json& data) {
  return section({.id = "speed",
                  .title = "Strategies side by side",
                  .shortened = "Strategies",
                  .text = fmt::format("Every strategy trained {} steps in fresh processes on {} "
                                      "ranks; one rank did the same alone.",
                                      data["settings"]["steps"].get<int>(),
                                      data["settings"]["ranks"].get<int>())},
                 {speed_table(data), pair(speed_bars(data), loss_curves(data))});
}

Json sweep_section(const Json& data) {
  const Json& sweep = data["sweep"];
  const std::string items = data["start"]["items"];
  const Json speeds =
      sweep_points(sweep["rows"], [](const Json& row) { return scaled(row, "items_per_second"); });
  const Json measured = sweep_points(
      sweep["rows"], [](const Json& row) { return scaled(row["memory"], "measured", 1 / kMiB); });
  const Json predicted = sweep_points(
      sweep["rows"], [](const Json& row) { return scaled(row["memory"], "predicted", 1 / kMiB); });
  Json speed = lines({.title = "Throughput against micro-batch",
                      .x = "micro-batch",
                      .y = items + " per second",
                      .series = Json::array({curve("measured", speeds)})});
  speed["digits"] = 0;
  speed["x"]["whole"] = true;
  Json estimate = curve("predicted", predicted);
  estimate["dashed"] = true;
  const Json memory = lines({.title = "Peak memory against micro-batch",
                             .x = "micro-batch",
                             .y = "MiB",
                             .series = Json::array({curve("measured", measured), estimate})});
  const std::string knee =
      sweep["knee"].is_null()
          ? ""
          : fmt::format(" The knee is at {}: the smallest batch within 5 % of the highest speed.",
                        sweep["knee"].get<std::int64_t>());
  return section(
      {.id = "sweep",
       .title = "Batch sweep to the limit",
       .shortened = "Batch sweep",
       .text = fmt::format("One rank, doubling the micro-batch until {}, then halving the gap; "
                           "every try is a process of its own. The largest that fits is {}{}.{}",
                           sweep["ended_by_memory"].get<bool>() ? "memory ended" : "the set end",
                           sweep["largest"].get<std::int64_t>(),
                           sweep["ended_by_memory"].get<bool>() ? "" : " or more",
                           knee)},
      {sweep_table(sweep, items), pair(speed, memory)});
}

}  // namespace sheaf::study
