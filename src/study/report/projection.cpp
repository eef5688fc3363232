#include <fmt/format.h>

#include "study/report/blocks.h"
#include "study/report/sections.h"

namespace sheaf::study {
namespace {

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
          row["speed_up"].get<double>() * devices / ranks * step / time,
          100 * exposed * share / time,
          scaled(projected, "peak", 1 / kMiB)};
}

}  // namespace

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
           numbers("speed-up", "over one rank", 2),
           numbers("exposed", "% of the step", 2),
           numbers("peak per device", "MiB", 1)},
          rows)}));
}

}  // namespace sheaf::study
