#include "trace_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "sheaf/base/error.h"
#include "trace_json.h"

namespace sheaf::profile {
namespace {

using Json = nlohmann::ordered_json;

// Of Kineto's own events, of which there are always some, these many bytes come before the first.
constexpr std::size_t kHead = std::size_t{1} << 20;
constexpr std::size_t kChunk = std::size_t{1} << 20;

// Numbers of tracks that no thread has.
constexpr std::int64_t kFirstTrack = 2'000'000'000;
enum Track : std::int64_t { kSteps, kUnits, kWaits, kGroups };

std::string_view kind_name(SpanKind kind) {
  switch (kind) {
    case SpanKind::data:
      return "data";
    case SpanKind::forward:
      return "forward";
    case SpanKind::backward:
      return "backward";
    case SpanKind::optimizer:
      return "optimizer";
    case SpanKind::unit_forward:
      return "unit_forward";
    case SpanKind::unit_backward:
      return "unit_backward";
    case SpanKind::collective:
      return "collective";
    case SpanKind::wait:
      break;
  }
  return "wait";
}

std::int64_t track_of(const Span& span) {
  switch (span.kind) {
    case SpanKind::unit_forward:
    case SpanKind::unit_backward:
      return kFirstTrack + kUnits;
    case SpanKind::collective:
      return kFirstTrack + kGroups + span.group;
    case SpanKind::wait:
      return kFirstTrack + kWaits;
    default:
      return kFirstTrack + kSteps;
  }
}

/// Says in words what a span is: "gather h.3".
std::string title_of(const Span& span, const std::string& unit) {
  if (span.kind == SpanKind::unit_forward) return "forward " + unit;
  if (span.kind == SpanKind::unit_backward) return "backward " + unit;
  if (span.kind != SpanKind::collective) return std::string(kind_name(span.kind));
  if (unit.empty()) return fmt::format("{} {}", span.what, span.purpose);
  return fmt::format("{} {}", span.purpose == "gradients" ? "reduce" : "gather", unit);
}

/// Writes events as JSON, in Kineto's time.
class EventText {
 public:
  explicit EventText(std::int64_t shift) : shift_(shift) {}

  void range(const std::string& name, std::int64_t track, const Interval& time, Json arguments) {
    // By hand, because a double that is dumped has not always all nanoseconds.
    text_ += fmt::format(
        R"({{"ph": "X", "cat": "{}", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {}}},)"
        "\n",
        kSheafCategory,
        Json(name).dump(-1, ' ', false, Json::error_handler_t::replace),
        ::getpid(),
        track,
        microseconds(time.begin + shift_),
        microseconds(time.length()),
        arguments.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  void name_track(std::int64_t track, const std::string& name) {
    const auto add = [&](const char* what, const Json& arguments) {
      const Json event = {
          {"ph", "M"}, {"name", what}, {"pid", ::getpid()}, {"tid", track}, {"args", arguments}};
      text_ += event.dump() + ",\n";
    };
    add("thread_name", {{"name", name}});
    // Above the threads.
    add("thread_sort_index", {{"sort_index", track - kFirstTrack - 1'000'000}});
  }

  [[nodiscard]] std::string& text() { return text_; }

 private:
  static std::string microseconds(std::int64_t nanoseconds) {
    const char* sign = nanoseconds < 0 ? "-" : "";
    nanoseconds = std::abs(nanoseconds);
    return fmt::format("{}{}.{:03}", sign, nanoseconds / 1000, nanoseconds % 1000);
  }

  std::int64_t shift_;
  std::string text_;
};

Json arguments_of(const Span& span, const Recorder& recorder) {
  Json arguments = {{"kind", kind_name(span.kind)}};
  if (span.unit != 0) arguments["unit"] = recorder.name(span.unit);
  if (span.kind != SpanKind::collective) return arguments;
  arguments["collective"] = span.what;
  arguments["purpose"] = span.purpose;
  arguments["bytes"] = span.bytes;
  arguments["group"] = recorder.name(span.group);
  arguments["call"] = span.call;
  return arguments;
}

std::string events_of(const TraceNotes& notes, const Recorder& recorder, std::int64_t shift) {
  EventText events(shift);
  events.name_track(kFirstTrack + kSteps, "sheaf: steps");
  events.name_track(kFirstTrack + kUnits, "sheaf: units");
  events.name_track(kFirstTrack + kWaits, "sheaf: waiting");
  std::vector<Label> groups;
  for (const RecordedStep& step : notes.steps) {
    events.range(fmt::format("step {}", step.number),
                 kFirstTrack + kSteps,
                 step.window,
                 {{"kind", "step"}, {"step", step.number}});
  }
  for (const Span& span : notes.spans) {
    events.range(title_of(span, recorder.name(span.unit)),
                 track_of(span),
                 {span.begin, span.end},
                 arguments_of(span, recorder));
    const bool is_new =
        span.kind == SpanKind::collective && std::ranges::find(groups, span.group) == groups.end();
    if (!is_new) continue;
    groups.push_back(span.group);
    events.name_track(track_of(span), "sheaf: exchanges of " + recorder.name(span.group));
  }
  return std::move(events.text());
}

std::string top_of(const TraceNotes& notes) {
  Json traffic = Json::array();
  for (const CollectiveUse& use : notes.traffic) {
    traffic.push_back({{"collective", use.collective},
                       {"purpose", use.purpose},
                       {"calls", use.exchanged.calls},
                       {"bytes", use.exchanged.bytes.count}});
  }
  const Json top = {{"rank", notes.rank},
                    {"ranks", notes.ranks},
                    {"strategy", notes.strategy},
                    {"clock_shift_ns", notes.clock_shift},
                    {"traffic", traffic}};
  return fmt::format(
      "\"{}\": {},\n", kSheafNotes, top.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string read_head(std::ifstream& file, std::size_t most) {
  std::string text(most, '\0');
  file.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(file.gcount()));
  file.clear();
  return text;
}

/// Returns the place behind the bracket that opens the list of events.
std::size_t first_event(const std::string& head, const std::string& path) {
  const auto key = head.find("\"traceEvents\"");
  const auto bracket = key == std::string::npos ? key : head.find('[', key);
  if (bracket == std::string::npos) {
    throw IoError(fmt::format("{} is not what Kineto writes: it has no list of events", path));
  }
  return bracket + 1;
}

}  // namespace

void write_with_notes(const std::string& raw,
                      const std::string& path,
                      const TraceNotes& notes,
                      const Recorder& recorder) {
  std::ifstream in(raw, std::ios::binary);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  const std::int64_t shift = wall_clock_offset() - base_time_of(raw);
  const std::string head = read_head(in, kHead);
  const std::size_t events = first_event(head, raw);
  const std::size_t top = head.find('{') + 1;
  out << head.substr(0, top) << "\n"
      << top_of(notes) << head.substr(top, events - top) << "\n"
      << events_of(notes, recorder, shift);
  std::string chunk = head.substr(events);
  in.seekg(static_cast<std::streamoff>(head.size()));
  while (!chunk.empty()) {
    out << chunk;
    chunk.resize(kChunk);
    in.read(chunk.data(), static_cast<std::streamsize>(kChunk));
    chunk.resize(static_cast<std::size_t>(in.gcount()));
  }
  if (!out.flush()) throw IoError(fmt::format("cannot write {}: is the disk full?", path));
}

}  // namespace sheaf::profile
