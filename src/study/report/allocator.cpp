#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "study/report/blocks.h"
#include "study/report/sections.h"

namespace sheaf::study {
namespace {

// The rest are small ones, which tell nothing of their own.
constexpr std::size_t kMostSegments = 60;

Json segments_table(const Json& memory, const std::vector<std::string>& names) {
  Json rows = Json::array();
  for (const std::string& strategy : names) {
    const Json& is = memory[strategy]["measured"];
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

Json segments_chart(const std::string& strategy, const Json& segments) {
  Json labels = Json::array();
  Json used = Json::array();
  Json cached = Json::array();
  for (std::size_t i = 0; i < std::min(segments.size(), kMostSegments); ++i) {
    const double size = segments[i]["size"].get<double>() / kMiB;
    const double in_use = segments[i]["in_use"].get<double>() / kMiB;
    labels.push_back(std::to_string(i + 1));
    used.push_back(in_use);
    cached.push_back(size - in_use);
  }
  return bars(
      {.title = fmt::format("Cached segments, {}", strategy),
       .unit = "MiB",
       .labels = labels,
       .series = {series("in use", used), series("kept for later", cached)},
       .stacked = true,
       .note = fmt::format("Largest first, after the last step; {} in all.", segments.size())});
}

Json history_chart(const std::string& strategy, const Json& history) {
  Json in_use = Json::array();
  Json reserved = Json::array();
  for (const Json& moment : history) {
    const double x = 1000 * moment["seconds"].get<double>();
    in_use.push_back({{"x", x}, {"y", moment["in_use"].get<double>() / kMiB}});
    reserved.push_back({{"x", x}, {"y", moment["reserved"].get<double>() / kMiB}});
  }
  return lines({.title = fmt::format("Allocator history, {}", strategy),
                .x = "ms",
                .y = "MiB on rank 0",
                .series = Json::array({curve("in use", in_use), curve("reserved", reserved)})});
}

}  // namespace

Json allocator_blocks(const Json& memory) {
  std::vector<std::string> names;
  for (const auto& [name, report] : memory.items()) {
    if (report.is_object() && report["measured"].contains("segments")) names.push_back(name);
  }
  Json blocks = Json::array();
  if (names.empty()) return blocks;
  blocks.push_back(segments_table(memory, names));
  // One rank and the strategy that cuts most, as for other timelines.
  std::vector<std::string> shown{names.front()};
  if (std::ranges::find(names, "zero3") != names.end()) shown.emplace_back("zero3");
  for (const std::string& name : shown) {
    const Json& is = memory[name]["measured"];
    if (is.value("history", Json::array()).empty()) continue;
    blocks.push_back(
        pair(history_chart(name, is["history"]), segments_chart(name, is["segment_list"])));
  }
  return blocks;
}

}  // namespace sheaf::study
