#include <fmt/format.h>

#include <array>
#include <map>

#include "study/report/blocks.h"
#include "study/report/sections.h"

namespace sheaf::study {
namespace {

struct Phase {
  const char* key;
  const char* name;
};
constexpr std::array<Phase, 6> kPhases{Phase{"forward", "forward"},
                                       Phase{"backward", "backward"},
                                       Phase{"optimizer", "optimizer"},
                                       Phase{"exposed_communication", "exposed communication"},
                                       Phase{"data_wait", "waiting for data"},
                                       Phase{"idle", "idle"}};

/// Rank 0's figures in a profile; null where it did not run.
Json first_rank(const Json& data, const std::string& name) {
  const Json& profiles = data["profiles"];
  if (!profiles.contains(name) || !profiles[name].contains("ranks")) return {};
  return profiles[name]["ranks"][0];
}

std::vector<std::string> names_of(const Json& data) {
  std::vector<std::string> names{"one rank"};
  for (const Json& row : data["strategies"]) names.push_back(row["strategy"]);
  return names;
}

Json breakdown_chart(const Json& data) {
  Json labels = Json::array();
  std::map<std::string, Json> values;
  const auto add = [&](const Json& row) {
    if (!finished(row)) return;
    labels.push_back(row["strategy"]);
    for (const Phase& phase : kPhases) {
      values[phase.key].push_back(row["phases"].value(phase.key, 0.0) * 1000);
    }
  };
  add(data["baseline"]);
  for (const Json& row : data["strategies"]) add(row);
  Json all = Json::array();
  for (const Phase& phase : kPhases) all.push_back(series(phase.name, values[phase.key]));
  return bars({.title = "Where a step's time goes",
               .unit = "ms per step, rank 0",
               .labels = labels,
               .series = all,
               .stacked = true,
               .horizontal = true,
               .note = "From the accounting of every counted step. The parts do not overlap; "
                       "communication that ran beside computing takes no time of its own."});
}

Json times_table(const Json& data) {
  Json rows = Json::array();
  for (const std::string& name : names_of(data)) {
    const Json rank = first_rank(data, name);
    if (rank.is_null()) continue;
    rows.push_back({name,
                    scaled(rank, "seconds", 1000),
                    scaled(rank, "idle", 1000),
                    scaled(rank, "compute", 1000),
                    scaled(rank, "non_compute", 1000),
                    scaled(rank, "kernel", 1000),
                    scaled(rank, "compute_share", 100)});
  }
  return table({.title = "Idle, compute and non-compute time",
                .note = "From traces of a few steps, rank 0, per step; recording makes steps "
                        "slower than they are above."},
               {words("strategy"),
                numbers("step", "ms", 2),
                numbers("idle", "ms", 2),
                numbers("compute", "ms", 2),
                numbers("non-compute", "ms", 2),
                numbers("busy in all", "ms", 2),
                numbers("compute", "% of the step", 2)},
               rows);
}

Json overhead_table(const Json& data) {
  const Json alone = first_rank(data, "one rank");
  Json rows = Json::array();
  for (const Json& row : data["strategies"]) {
    const Json rank = first_rank(data, row["strategy"]);
    if (rank.is_null() || alone.is_null()) continue;
    const auto more = [&](const char* key) {
      return 1000 * (rank[key].get<double>() - alone[key].get<double>());
    };
    rows.push_back(
        {row["strategy"],
         more("idle"),
         more("non_compute"),
         scaled(rank, "exposed", 1000),
         100 * (alone["compute_share"].get<double>() - rank["compute_share"].get<double>())});
  }
  return table({.title = "Additional overhead against one device"},
               {words("strategy"),
                numbers("idle", "ms more", 2),
                numbers("non-compute", "ms more", 2),
                numbers("exposed communication", "ms", 2),
                numbers("compute share lost", "percentage points", 2)},
               rows);
}

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

Json pattern_table(const Json& data) {
  Json rows = Json::array();
  for (const Json& row : data["strategies"]) {
    if (!finished(row)) continue;
    const Json main = primary(row["traffic"]["by_collective"]);
    for (const Json& each : row["traffic"]["by_collective"]) {
      const double calls = each["calls"];
      rows.push_back(
          {row["strategy"],
           each["collective"].get<std::string>() + (each["collective"] == main ? " (primary)" : ""),
           each["purpose"],
           each["calls"],
           scaled(each, "bytes", 1 / kMiB),
           scaled(each, "seconds", 1000),
           calls > 0 ? Json(1000 * each["seconds"].get<double>() / calls) : Json()});
    }
  }
  return table({.title = "Communication pattern",
                .note = "Per step, rank 0. Seconds are from start to end of a call, waiting for "
                        "other ranks included."},
               {words("strategy"),
                words("collective"),
                words("purpose"),
                numbers("calls", "per step", 1),
                numbers("bytes", "MiB per step", 3),
                numbers("total", "ms per step", 2),
                numbers("average", "ms per call", 3)},
               rows);
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

}  // namespace

Json time_section(const Json& data) {
  return section({.id = "time",
                  .title = "Where the time goes",
                  .shortened = "Time",
                  .text = "Each step is split into parts that add up to it; traces of a few steps "
                          "tell compute, communication and idle time apart."},
                 {breakdown_chart(data), times_table(data), overhead_table(data)});
}

Json exchange_section(const Json& data) {
  return section(
      {.id = "communication",
       .title = "Communication",
       .shortened = "Communication",
       .text = "What ranks exchange in a step, how much of it hides behind computing, "
               "and what that buys in memory."},
      {pair(overlap_chart(data), trade_chart(data)), overlap_table(data), pattern_table(data)});
}

}  // namespace sheaf::study
