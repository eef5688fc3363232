#include <fmt/format.h>

#include <map>

#include "study/report/blocks.h"
#include "study/report/sections.h"

namespace sheaf::study {
namespace {

struct Cuts {
  const char* optimizer;
  const char* gradients;
  const char* parameters;
};

Cuts cuts_of(const std::string& strategy) {
  if (strategy.find("zero3") != std::string::npos) return {"cut", "cut", "cut"};
  if (strategy.find("zero2") != std::string::npos) return {"cut", "cut", "whole"};
  if (strategy.find("zero1") != std::string::npos) return {"cut", "whole", "whole"};
  return {"whole", "whole", "whole"};
}

std::string collectives_text(const Json& traffic) {
  std::map<std::string, double> calls;
  for (const Json& each : traffic["by_collective"]) {
    if (each["purpose"] == "control" || each["purpose"] == "loss") continue;
    calls[each["collective"]] += each["calls"].get<double>();
  }
  std::string text;
  for (const auto& [name, count] : calls) {
    text += fmt::format("{}{} {:.0f} x", text.empty() ? "" : ", ", name, count);
  }
  return text;
}

/// Time that a step would take with the same work per rank on other numbers of devices.
Json projected_row(const Json& row, const Json& projected, const Json& settings) {
  const double ranks = settings["ranks"];
  const double devices = projected["devices"];
  const double step = row["step_seconds"]["median"];
  const double exposed = row["phases"].value("exposed_communication", 0.0);
  const double share = ((devices - 1) / devices) / ((ranks - 1) / ranks);
  const double time = step - exposed + exposed * share;
  const double items = row["items_per_second"].get<double>() / ranks;
  return {row["strategy"],
          devices,
          1000 * time,
          items * devices * step / time,
          devices / ranks * step / time,
          100 * exposed * share / time,
          scaled(projected, "peak", 1 / kMiB)};
}

}  // namespace

Json guide_section(const Json& data) {
  Json rows = Json::array();
  for (const Json& row : data["strategies"]) {
    if (!finished(row)) continue;
    const Cuts cuts = cuts_of(row["strategy"]);
    rows.push_back({row["strategy"],
                    cuts.parameters,
                    cuts.gradients,
                    cuts.optimizer,
                    scaled(row["memory"], "measured", 1 / kMiB),
                    scaled(row["memory"], "predicted", 1 / kMiB),
                    scaled(row["memory"], "error", 100),
                    collectives_text(row["traffic"])});
  }
  return section({.id = "guide",
                  .title = "What each strategy cuts",
                  .shortened = "Guide",
                  .text = "Whole: every rank holds all of it. Cut: each rank holds its part. A "
                          "hybrid cuts within groups of ranks and copies between them."},
                 Json::array({table({.title = "Sharding comparison"},
                                    {words("strategy"),
                                     words("parameters"),
                                     words("gradients"),
                                     words("optimizer"),
                                     numbers("peak per rank", "MiB", 1),
                                     numbers("predicted", "MiB", 1),
                                     numbers("error", "%", 1),
                                     words("collectives per step")},
                                    rows)}));
}

Json gains_section(const Json& data) {
  Json rows = Json::array();
  Json labels = Json::array();
  Json speeds = Json::array();
  double first = 0;
  double before = 0;
  for (const Json& row : data["gains"]) {
    if (!finished(row)) continue;
    const double speed = row["items_per_second"];
    if (first == 0) first = before = speed;
    rows.push_back({row["name"],
                    row["meaning"],
                    speed,
                    100 * (speed / before - 1),
                    speed / first,
                    scaled(row, "mfu", 100),
                    scaled(row["memory"], "measured", 1 / kMiB)});
    labels.push_back(rows.size() == 1 ? row["name"] : Json("+ " + row["name"].get<std::string>()));
    speeds.push_back(speed);
    before = speed;
  }
  const std::string items = data["start"]["items"];
  Json chart = bars({.title = "Throughput, one optimisation after the other",
                     .unit = items + " per second",
                     .labels = labels,
                     .series = Json::array({series("all ranks together", speeds)})});
  chart["digits"] = 0;
  return section(
      {.id = "gains",
       .title = "What each optimisation adds",
       .shortened = "Optimisations",
       .text = "Real runs, each with one thing more than the one before. The fused "
               "layers of sheaf (GELU with its product, cross entropy with the last "
               "product, one pass of the optimizer) have no switch and are in all rows."},
      {chart,
       table({.title = "Cumulative"},
             {words("added"),
              words("what it is"),
              numbers(items, "per second", 0),
              numbers("gain", "% over the row above", 1),
              numbers("in all", "times the first", 2),
              numbers("MFU", "%", 1),
              numbers("peak per rank", "MiB", 1)},
             rows)});
}

Json projection_section(const Json& data) {
  Json rows = Json::array();
  for (const Json& projected : data["projection"]) {
    for (const Json& row : data["strategies"]) {
      if (row["strategy"] != projected["strategy"] || !finished(row)) continue;
      rows.push_back(projected_row(row, projected, data["settings"]));
    }
  }
  const int ranks = data["settings"]["ranks"];
  return section(
      {.id = "projection",
       .title = "Projection to more devices",
       .shortened = "Projection",
       .text = "Not measured. Each device is taken to be as fast as a rank was here and to keep "
               "its batch; only exposed communication and memory change."},
      Json::array({table(
          {.title = "Projected (not measured)",
           .note = fmt::format(
               "step(W) = step({0}) - exposed({0}) + exposed({0}) x [(W-1)/W] / [({0}-1)/{0}]: a "
               "ring sends that part of the bytes. Speed-up = W/{0} x step({0}) / step(W). Peaks "
               "are what the plan predicts for W ranks. Links slower than those here make it "
               "worse, own cores for every rank make it better.",
               ranks)},
          {words("strategy"),
           numbers("devices", "W", 0),
           numbers("step", "ms", 1),
           numbers(data["start"]["items"], "per second", 0),
           numbers("speed-up", fmt::format("over {} ranks", ranks), 2),
           numbers("exposed", "% of the step", 2),
           numbers("peak per device", "MiB", 1)},
          rows)}));
}

}  // namespace sheaf::study
