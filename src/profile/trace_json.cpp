#include "trace_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "sheaf/base/error.h"

namespace sheaf::profile {
namespace {

using nlohmann::json;
using Event = json::parse_event_t;

constexpr std::string_view kEvents = "traceEvents";
// Deeper than any trace, and far from what a stack of calls can hold.
constexpr int kDeepest = 64;
// Bytes at the beginning and the end of a trace that have what is not an event.
constexpr std::int64_t kEdge = std::int64_t{1} << 20;

/// Takes each event out of the list as soon as it is whole.
class EventCatcher {
 public:
  using Take = std::function<void(json&, std::int64_t)>;
  EventCatcher(const std::string& path, const Take& take) : path_(path), take_(take) {}

  bool operator()(int depth, Event event, json& parsed) {
    if (depth > kDeepest) refuse("is nested too deeply for a trace");
    if (depth == 0 && event == Event::array_start) is_bare_ = true;
    if (depth == 1 && event == Event::key)
      in_list_ = parsed.get_ref<const std::string&>() == kEvents;
    found_ = found_ || is_bare_ || (in_list_ && depth == 1 && event == Event::array_start);
    const int own_depth = is_bare_ ? 1 : 2;
    const bool whole = event == Event::object_end || event == Event::value;
    if (!found_ || !(is_bare_ || in_list_) || depth != own_depth || !whole) return true;
    if (!parsed.is_object()) refuse(fmt::format("has an event that is none, number {}", number_));
    take_(parsed, number_++);
    return false;
  }

  [[nodiscard]] bool found() const { return found_; }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw UsageError(fmt::format("{} {}", path_, why));
  }

  const std::string& path_;
  const Take& take_;
  bool is_bare_ = false;
  bool in_list_ = false;
  bool found_ = false;
  std::int64_t number_ = 0;
};

std::ifstream open(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw UsageError(fmt::format("{} is a folder, not a trace", path));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw IoError(fmt::format("cannot read the trace {}", path));
  return file;
}

}  // namespace

json read_events(const std::string& path,
                 const std::function<void(json& event, std::int64_t number)>& take) {
  std::ifstream file = open(path);
  EventCatcher catcher(path, take);
  try {
    json rest = json::parse(file, std::ref(catcher));
    if (!catcher.found()) {
      throw UsageError(fmt::format("{} is no trace: it has no list named {}", path, kEvents));
    }
    return rest;
  } catch (const json::parse_error& error) {
    throw UsageError(
        fmt::format("{} is no trace: its JSON is broken at byte {}", path, error.byte));
  } catch (const json::exception& error) {
    throw UsageError(fmt::format("{} is no trace: {}", path, error.what()));
  }
}

std::int64_t base_time_of(const std::string& path) {
  constexpr std::string_view kKey = "\"baseTimeNanoseconds\":";
  std::ifstream file = open(path);
  file.seekg(0, std::ios::end);
  const auto size = static_cast<std::int64_t>(file.tellg());
  // It stands before or behind the events.
  for (const std::int64_t from : {std::int64_t{0}, std::max<std::int64_t>(size - kEdge, 0)}) {
    std::string edge(static_cast<std::size_t>(std::min(size, kEdge)), '\0');
    file.seekg(from);
    file.read(edge.data(), static_cast<std::streamsize>(edge.size()));
    const auto place = edge.find(kKey);
    if (place != std::string::npos) {
      return std::strtoll(edge.c_str() + place + kKey.size(), nullptr, 10);
    }
  }
  return 0;
}

}  // namespace sheaf::profile
