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
    Json row = Json::array({name, scaled(rank, "seconds", 1000)});
    for (const char* key : {"compute", "non_compute", "idle", "kernel"}) {
      row.push_back(scaled(rank, key, 1000));
      row.push_back(scaled(rank, key, 100 / rank["seconds"].get<double>()));
    }
    rows.push_back(row);
  }
  Json columns = Json::array({words("strategy"), numbers("step", "ms", 2)});
  for (const char* name : {"compute", "non-compute", "idle", "kernels in all"}) {
    columns.push_back(numbers(name, "ms", 2));
    columns.push_back(numbers(name, "%", 2));
  }
  return table({.title = "Idle, compute and non-compute time",
                .note = "From traces of a few steps, rank 0, per step; recording makes steps "
                        "slower than they are above. Non-compute is what ran while nothing "
                        "computed, exchanges above all; kernels in all are both."},
               columns,
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

}  // namespace

Json time_section(const Json& data) {
  return section({.id = "time",
                  .title = "Where the time goes",
                  .shortened = "Time",
                  .text = "Each step is split into parts that add up to it; traces of a few steps "
                          "tell compute, communication and idle time apart."},
                 {breakdown_chart(data), times_table(data), overhead_table(data)});
}

}  // namespace sheaf::study
