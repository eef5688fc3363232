#include <algorithm>
#include <map>

#include "study/report/blocks.h"
#include "study/report/sections.h"

namespace sheaf::study {
namespace {

Json overlap_chart(const Json& data) {
  Json labels = Json::array();
  Json hidden = Json::array();
  Json exposed = Json::array();
  for (const Json& row : data["strategies"]) {
    if (!finished(row)) continue;
    labels.push_back(row["strategy"]);
    hidden.push_back(row["phases"].value("hidden_communication", 0.0) * 1000);
    exposed.push_back(row["phases"].value("exposed_communication", 0.0) * 1000);
  }
  return bars({.title = "Communication, hidden and exposed",
               .unit = "ms per step",
               .labels = labels,
               .series = {series("hidden behind computing", hidden), series("exposed", exposed)},
               .stacked = true});
}

Json overlap_table(const Json& data) {
  Json rows = Json::array();
  for (const Json& row : data["strategies"]) {
    if (!finished(row)) continue;
    rows.push_back({row["strategy"],
                    scaled(row, "overlap", 100),
                    scaled(row["phases"], "exposed_communication", 1000),
                    scaled(row["phases"], "hidden_communication", 1000),
                    scaled(row["traffic"], "calls"),
                    scaled(row["traffic"], "bytes", 1 / kMiB)});
  }
  return table({.title = "Overlap and exposed communication"},
               {words("strategy"),
                numbers("overlap", "%", 1),
                numbers("exposed", "ms per step", 2),
                numbers("hidden", "ms per step", 2),
                numbers("calls", "per step", 1),
                numbers("traffic", "MiB per step", 2)},
               rows);
}

/// The collective that moves most, of all purposes together.
Json primary(const Json& by_collective) {
  std::map<std::string, double> bytes;
  for (const Json& each : by_collective) {
    bytes[each["collective"]] += each["bytes"].get<double>();
  }
  std::string best;
  for (const auto& [name, sum] : bytes) {
    if (best.empty() || sum > bytes[best]) best = name;
  }
  return best.empty() ? Json() : Json(best);
}

/// One line for each strategy: the collective that moves most, all its purposes together.
Json pattern_table(const Json& strategies) {
  Json rows = Json::array();
  for (const Json& row : strategies) {
    if (!finished(row)) continue;
    const Json& all = row["traffic"]["by_collective"];
    const Json main = primary(all);
    double calls = 0;
    double seconds = 0;
    double bytes = 0;
    for (const Json& each : all) {
      if (each["collective"] != main) continue;
      calls += each["calls"].get<double>();
      seconds += each["seconds"].get<double>();
      bytes += each["bytes"].get<double>();
    }
    rows.push_back({row["strategy"],
                    main,
                    calls,
                    bytes / kMiB,
                    1000 * seconds,
                    calls > 0 ? Json(1000 * seconds / calls) : Json(),
                    scaled(row, "overlap", 100)});
  }
  return table({.title = "Communication pattern",
                .note = "The collective that moves most bytes, per step, rank 0."},
               {words("strategy"),
                words("primary collective"),
                numbers("calls", "per step", 1),
                numbers("bytes", "MiB per step", 2),
                numbers("total", "ms per step", 2),
                numbers("average", "ms per call", 3),
                numbers("overlap", "% of all", 1)},
               rows);
}

/// Every collective of every strategy; `collectives_of` returns those of one.
Json collectives_table(const TableText& text, const Json& strategies, const auto& collectives_of) {
  Json rows = Json::array();
  for (const Json& row : strategies) {
    for (const Json& each : collectives_of(row)) {
      const double calls = each["calls"];
      rows.push_back({row["strategy"],
                      each["collective"],
                      each["purpose"],
                      calls,
                      scaled(each, "bytes", 1 / kMiB),
                      scaled(each, "seconds", 1000),
                      calls > 0 ? Json(1000 * each["seconds"].get<double>() / calls) : Json()});
    }
  }
  return table(text,
               {words("strategy"),
                words("collective"),
                words("purpose"),
                numbers("calls", "per step", 1),
                numbers("bytes", "MiB per step", 3),
                numbers("total", "ms per step", 2),
                numbers("average", "ms per call", 3)},
               rows);
}

Json counted_collectives(const Json& data) {
  return collectives_table(
      {.title = "Every collective",
       .note = "Counted in the runs without a recording, per step, rank 0. Seconds are from start "
               "to end of a call, waiting for other ranks included."},
      data["strategies"],
      [](const Json& row) {
        return finished(row) ? row["traffic"]["by_collective"] : Json::array();
      });
}

Json traced_collectives(const Json& data) {
  return collectives_table(
      {.title = "Collectives in the trace", .note = "Per step, rank 0, from the recorded steps."},
      data["strategies"],
      [&](const Json& row) {
        const Json& profiles = data["profiles"];
        const std::string name = row["strategy"];
        return profiles.contains(name) ? profiles[name].value("collectives", Json::array())
                                       : Json::array();
      });
}

Json trade_chart(const Json& data) {
  Json all = Json::array();
  for (const Json& row : data["strategies"]) {
    if (!finished(row)) continue;
    all.push_back(curve(row["strategy"],
                        Json::array({{{"x", row["traffic"]["bytes"].get<double>() / kMiB},
                                      {"y", row["memory"]["measured"].get<double>() / kMiB}}})));
  }
  return lines({.title = "Memory against communication",
                .x = "traffic, MiB per step and rank",
                .y = "peak memory, MiB per rank",
                .series = all,
                .dots = true,
                .note = "Lower left is better: less held, less sent."});
}

/// Against what is held where nothing is cut.
Json trade_table(const Json& strategies) {
  double most = 0;
  for (const Json& row : strategies) {
    if (finished(row)) most = std::max(most, row["memory"]["measured"].get<double>());
  }
  Json rows = Json::array();
  for (const Json& row : strategies) {
    if (!finished(row)) continue;
    const double held = row["memory"]["measured"];
    rows.push_back({row["strategy"],
                    held / kMiB,
                    100 * (1 - held / most),
                    scaled(row["traffic"], "bytes", 1 / kMiB),
                    scaled(row["traffic"], "calls"),
                    scaled(row["phases"], "exposed_communication", 1000),
                    row["items_per_second"]});
  }
  return table({.title = "Memory against communication, by strategy"},
               {words("strategy"),
                numbers("peak per rank", "MiB", 1),
                numbers("saved", "% of the most", 1),
                numbers("traffic", "MiB per step", 2),
                numbers("calls", "per step", 1),
                numbers("exposed", "ms per step", 2),
                numbers("speed", "per second", 0)},
               rows);
}

}  // namespace

Json exchange_section(const Json& data) {
  return section({.id = "communication",
                  .title = "Communication",
                  .shortened = "Communication",
                  .text = "What ranks exchange in a step, how much of it hides behind computing, "
                          "and what that buys in memory."},
                 {pair(overlap_chart(data), trade_chart(data)),
                  overlap_table(data),
                  pattern_table(data["strategies"]),
                  trade_table(data["strategies"]),
                  counted_collectives(data),
                  traced_collectives(data)});
}

}  // namespace sheaf::study
