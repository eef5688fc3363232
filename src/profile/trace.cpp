#include "sheaf/profile/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <unordered_map>

#include "merged_trace.h"
#include "sheaf/base/error.h"
#include "trace_json.h"
#include "trace_writer.h"

namespace sheaf::profile {
namespace {

using nlohmann::json;

// Eighty years in microseconds: further than any clock, and near enough that nanoseconds of a whole
// trace can be added up.
constexpr double kLatest = 2.5e15;

// A TiB: more than an exchange has, and so little that those of a whole trace can be added up.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;

const std::map<std::string, EventKind, std::less<>> kCategories = {
    {"cpu_op", EventKind::operation},
    {"user_annotation", EventKind::annotation},
    {"kernel", EventKind::kernel},
    {"gpu_memcpy", EventKind::copy},
    {"gpu_memset", EventKind::copy}};

const std::map<std::string, EventKind, std::less<>> kRanges = {
    {"step", EventKind::step},
    {"data", EventKind::data},
    {"forward", EventKind::forward},
    {"backward", EventKind::backward},
    {"optimizer", EventKind::optimizer},
    {"unit_forward", EventKind::unit},
    {"unit_backward", EventKind::unit},
    {"collective", EventKind::collective},
    {"wait", EventKind::wait}};

std::string text_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::int64_t count_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

/// Returns what an event is; nothing for what no report is made of.
std::optional<EventKind> kind_of(const json& event) {
  const std::string category = text_at(event, "cat");
  if (category == kSheafCategory) {
    const auto arguments = event.find("args");
    if (arguments == event.end() || !arguments->is_object()) return std::nullopt;
    const auto range = kRanges.find(text_at(*arguments, "kind"));
    return range == kRanges.end() ? std::nullopt : std::optional(range->second);
  }
  const auto known = kCategories.find(category);
  return known == kCategories.end() ? std::nullopt : std::optional(known->second);
}

/// Collects the events of one file.
class Collector {
 public:
  Collector(const std::string& path, Trace& trace) : path_(path), trace_(trace) {
    for (std::size_t i = 0; i < trace.names.size(); ++i) names_[trace.names[i]] = i;
  }

  void take(const json& event, std::int64_t number) {
    if (text_at(event, "ph") != "X") return;
    const auto kind = kind_of(event);
    if (!kind) return;
    TraceEvent made{.kind = *kind, .name = index(text_at(event, "name"))};
    const std::int64_t begin = nanoseconds(event, "ts", number);
    made.time = {begin, begin + nanoseconds(event, "dur", number)};
    if (made.time.end < made.time.begin) refuse(number, "ends before it begins");
    made.thread = thread(event);
    made.rank = rank_of_process(count_at(event, "pid"));
    if (*kind == EventKind::collective) {
      const json& arguments = event.at("args");
      made.name = index(text_at(arguments, "collective"));
      made.purpose = index(text_at(arguments, "purpose"));
      made.bytes = count_at(arguments, "bytes");
      if (made.bytes < 0 || made.bytes > kMostBytes) {
        refuse(number, fmt::format("exchanges no possible number of bytes: {}", made.bytes));
      }
    }
    trace_.events.push_back(made);
  }

 private:
  [[noreturn]] void refuse(std::int64_t number, const std::string& why) const {
    throw UsageError(fmt::format("{}: event {} {}", path_, number, why));
  }

  [[nodiscard]] std::int64_t nanoseconds(const json& event,
                                         const char* key,
                                         std::int64_t number) const {
    const auto found = event.find(key);
    if (found == event.end() || !found->is_number()) {
      refuse(number, fmt::format("has no number for {}", key));
    }
    const double microseconds = found->get<double>();
    if (!(std::abs(microseconds) < kLatest)) {
      refuse(number, fmt::format("has a {} beyond all times: {}", key, microseconds));
    }
    return std::llround(microseconds * 1000);
  }

  std::uint32_t index(const std::string& name) {
    const auto [place, is_new] = names_.emplace(name, trace_.names.size());
    if (is_new) trace_.names.push_back(name);
    return static_cast<std::uint32_t>(place->second);
  }

  /// Streams of GPUs and threads have one number each; text is possible in both members.
  std::int64_t thread(const json& event) {
    const auto text = [&](const char* key) {
      const auto found = event.find(key);
      return found == event.end() ? std::string() : found->dump();
    };
    const auto next = static_cast<std::int64_t>(threads_.size());
    return threads_.emplace(text("pid") + " " + text("tid"), next).first->second;
  }

  const std::string& path_;
  Trace& trace_;
  std::unordered_map<std::string, std::size_t> names_;
  std::unordered_map<std::string, std::int64_t> threads_;
};

TraceOwner owner_of(const json& notes) {
  TraceOwner owner{.rank = static_cast<int>(count_at(notes, "rank")),
                   .strategy = text_at(notes, "strategy"),
                   .traffic = {}};
  const auto traffic = notes.find("traffic");
  if (traffic == notes.end() || !traffic->is_array()) return owner;
  for (const json& row : *traffic) {
    if (!row.is_object()) continue;
    owner.traffic.push_back({text_at(row, "collective"),
                             text_at(row, "purpose"),
                             {.calls = count_at(row, "calls"), .bytes = {count_at(row, "bytes")}}});
  }
  return owner;
}

/// Who PyTorch says it is, or nobody in particular.
TraceOwner foreign_owner(const json& rest) {
  const auto info = rest.is_object() ? rest.find("distributedInfo") : rest.end();
  const bool says = rest.is_object() && info != rest.end() && info->is_object();
  return {
      .rank = says ? static_cast<int>(count_at(*info, "rank")) : 0, .strategy = {}, .traffic = {}};
}

void read_file(const std::string& path, Trace& trace) {
  Collector collector(path, trace);
  const std::size_t first = trace.events.size();
  const json rest = read_events(
      path, [&](const json& event, std::int64_t number) { collector.take(event, number); });
  const bool has_notes = rest.is_object() && rest.contains(kSheafNotes);
  const json notes = has_notes ? rest.at(kSheafNotes) : json();
  if (notes.is_object() && notes.contains(kMergedNotes) && notes.at(kMergedNotes).is_array()) {
    for (const json& each : notes.at(kMergedNotes)) {
      if (each.is_object()) trace.owners.push_back(owner_of(each));
    }
    return;
  }
  const TraceOwner owner = notes.is_object() ? owner_of(notes) : foreign_owner(rest);
  for (std::size_t i = first; i < trace.events.size(); ++i) trace.events[i].rank = owner.rank;
  trace.owners.push_back(owner);
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  for (int rank = 0; std::filesystem::exists(folder + "/" + trace_name(rank)); ++rank) {
    files.push_back(folder + "/" + trace_name(rank));
  }
  if (files.empty()) {
    throw UsageError(fmt::format(
        "{} has no {}: record one with sheaf train --log.dir={} --profile.steps=FIRST:LAST",
        folder,
        trace_name(0),
        folder));
  }
  return files;
}

}  // namespace

std::string trace_name(int rank) { return fmt::format("trace_rank{}.json", rank); }

Trace read_trace(const std::string& path) {
  Trace trace;
  if (std::filesystem::is_directory(path)) {
    for (const std::string& file : files_in(path)) read_file(file, trace);
  } else {
    read_file(path, trace);
  }
  if (trace.events.empty()) {
    throw UsageError(fmt::format("{} has no operators, kernels or named ranges in it", path));
  }
  std::ranges::sort(trace.owners, {}, &TraceOwner::rank);
  return trace;
}

}  // namespace sheaf::profile
