#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "study/report/blocks.h"
#include "study/report/sections.h"

namespace sheaf::study {
namespace {

/// A strategy of ours or of PyTorch's.
struct Entry {
  std::string by;
  std::string name;
  Json row;
};

std::vector<Entry> entries_of(const Json& data) {
  std::vector<Entry> entries;
  for (const Json& row : data["strategies"]) {
    if (finished(row)) entries.push_back({"sheaf", row["strategy"], row});
  }
  for (const Json& row : data["pytorch"]) {
    if (finished(row)) entries.push_back({"PyTorch", row["name"], row});
  }
  return entries;
}

/// What both sides can be measured by: on a CPU PyTorch does not count its tensors.
const char* measure_of(const Json& data) {
  const bool only_processes = !data["pytorch"].empty() && data["settings"]["device"] == "cpu";
  return only_processes ? "resident" : "measured";
}

std::vector<Entry> least_first(const Json& data) {
  auto entries = entries_of(data);
  const char* key = measure_of(data);
  std::ranges::stable_sort(
      entries, {}, [&](const Entry& entry) { return entry.row["memory"].value(key, 0.0); });
  return entries;
}

Json peaks_chart(const Json& data) {
  const bool of_tensors = std::string_view(measure_of(data)) == "measured";
  Json labels = Json::array();
  Json ours = Json::array();
  Json theirs = Json::array();
  for (const Entry& entry : least_first(data)) {
    const Json peak = scaled(entry.row["memory"], measure_of(data), 1 / kMiB);
    labels.push_back(entry.name);
    ours.push_back(entry.by == "sheaf" ? peak : Json());
    theirs.push_back(entry.by == "sheaf" ? Json() : peak);
  }
  Json all = Json::array({series("sheaf", ours)});
  if (!data["pytorch"].empty()) all.push_back(series("PyTorch", theirs));
  return bars({.title = "Peak memory by strategy",
               .unit = of_tensors ? "MiB of tensors" : "MiB of the whole process",
               .labels = labels,
               .series = all,
               .stacked = true,
               .horizontal = true,
               .note = "On the rank that holds most."});
}

Json peaks_table(const Json& data) {
  Json rows = Json::array();
  for (const Entry& entry : least_first(data)) {
    const Json& row = entry.row;
    // A CPU has no count of PyTorch's tensors.
    const Json tensors = scaled(row["memory"], "measured", 1 / kMiB);
    rows.push_back({entry.name,
                    entry.by,
                    tensors == Json(0.0) ? Json() : tensors,
                    scaled(row["memory"], "resident", 1 / kMiB),
                    row["items_per_second"],
                    row["last_loss"],
                    row.value("loss_agrees", Json()),
                    row["weights_in_sync"]});
  }
  return table({.title = "Peak memory, weights and losses",
                .note = "Least first. In sync: all ranks hold the same weights after the last "
                        "step. Same loss: as one rank's, within 0.1 % (3 % in 16 bits)."},
               {words("strategy"),
                words("by"),
                numbers("tensors", "MiB", 1),
                numbers("whole process", "MiB", 0),
                numbers(data["start"]["items"], "per second", 0),
                numbers("last loss", "", 5),
                words("same loss"),
                words("in sync")},
               rows);
}

/// Pairs that do the same: what PyTorch has, and what stands for it here.
Json pairs_table(const Json& peers, const std::string& items) {
  Json rows = Json::array();
  for (const Json& peer : peers) {
    if (!finished(peer)) {
      rows.push_back(
          {peer["name"], peer["problems"][0], nullptr, nullptr, nullptr, nullptr, nullptr});
      continue;
    }
    const Json own = peer["sheaf"].is_object() ? peer["sheaf"] : Json::object();
    rows.push_back({peer["name"],
                    own.value("strategy", Json()),
                    peer["items_per_second"],
                    scaled(own, "items_per_second"),
                    scaled(own, "ratio"),
                    scaled(peer["memory"], "resident", 1 / kMiB),
                    scaled(own, "resident", 1 / kMiB)});
  }
  return table({.title = "PyTorch and sheaf",
                .note = "Same initial weights, batches, optimizer and ranks on both sides."},
               {words("PyTorch"),
                words("sheaf"),
                numbers(items, "per second, PyTorch", 0),
                numbers(items, "per second, sheaf", 0),
                numbers("sheaf is", "times as fast", 2),
                numbers("process, PyTorch", "MiB", 0),
                numbers("process, sheaf", "MiB", 0)},
               rows);
}

}  // namespace

Json peaks_section(const Json& data) {
  const Json& peers = data["pytorch"];
  Json blocks = Json::array({peaks_chart(data), peaks_table(data)});
  if (!peers.empty()) blocks.push_back(pairs_table(peers, data["start"]["items"]));
  return section(
      {.id = "peaks",
       .title = peers.empty() ? "Peak memory, and whether it is right"
                              : "Beside PyTorch: peak memory, speed, and whether it is right",
       .shortened = peers.empty() ? "Peaks" : "PyTorch",
       .text = "What each strategy held at most, and whether it computed what one rank "
               "does."},
      blocks);
}

}  // namespace sheaf::study
