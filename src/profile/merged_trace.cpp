#include "merged_trace.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <map>

#include "sheaf/base/error.h"
#include "sheaf/profile/trace.h"
#include "trace_json.h"
#include "trace_writer.h"

namespace sheaf::profile {
namespace {

using nlohmann::json;

// Arrows between events have numbers that are unique in a rank only.
constexpr std::int64_t kArrowsPerRank = std::int64_t{1} << 40;

/// Turns the events of one rank into events of the common trace.
class Renumbering {
 public:
  Renumbering(int rank, std::int64_t shift) : rank_(rank), shift_(shift) {}

  void apply(json& event) {
    if (event.contains("pid")) event["pid"] = process(event["pid"]);
    const auto time = event.find("ts");
    if (time != event.end() && time->is_number()) *time = shifted(time->get<double>());
    const auto arrow = event.find("id");
    if (arrow != event.end() && arrow->is_number_integer()) {
      *arrow = arrow->get<std::int64_t>() + rank_ * kArrowsPerRank;
    }
    const auto name = event.find("name");
    if (name == event.end() || !event.contains("args") || !event["args"].is_object()) return;
    json& arguments = event["args"];
    if (*name == "process_name" && arguments.contains("name") && arguments["name"].is_string()) {
      arguments["name"] = fmt::format("rank {}: {}", rank_, arguments["name"].get<std::string>());
    }
    if (*name == "process_sort_index") arguments["sort_index"] = event["pid"];
  }

 private:
  /// By whole nanoseconds: where a range ends a nanosecond after the one around it, viewers drop
  /// it.
  [[nodiscard]] double shifted(double microseconds) const {
    return static_cast<double>(std::llround(microseconds * 1000) + shift_) / 1000;
  }

  std::int64_t process(const json& given) {
    const auto next = static_cast<std::int64_t>(processes_.size());
    const std::int64_t index = processes_.emplace(given.dump(), next).first->second;
    return (rank_ + 1) * kProcessesPerRank + index;
  }

  std::int64_t rank_;
  std::int64_t shift_;
  std::map<std::string, std::int64_t> processes_;
};

}  // namespace

void merge_traces(const std::vector<TracePart>& parts, const std::string& path) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << "{\n\"displayTimeUnit\": \"ms\",\n\"traceEvents\": [\n";
  const std::int64_t base = parts.empty() ? 0 : base_time_of(parts.front().path);
  json notes = json::array();
  bool is_first = true;
  for (const TracePart& part : parts) {
    const std::int64_t shift = base_time_of(part.path) - base + part.clock_shift;
    Renumbering renumbering(part.rank, shift);
    const json rest = read_events(part.path, [&](json& event, std::int64_t /*number*/) {
      renumbering.apply(event);
      out << (is_first ? "" : ",\n") << event.dump(-1, ' ', false, json::error_handler_t::replace);
      is_first = false;
    });
    if (rest.is_object() && rest.contains(kSheafNotes)) notes.push_back(rest.at(kSheafNotes));
  }
  const json merged = {{kMergedNotes, notes}};
  out << "\n],\n\"baseTimeNanoseconds\": " << base << ",\n\"" << kSheafNotes
      << "\": " << merged.dump() << "\n}\n";
  if (!out.flush()) throw IoError(fmt::format("cannot write {}: is the disk full?", path));
}

}  // namespace sheaf::profile
