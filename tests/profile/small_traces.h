#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

// Chrome traces of a few events, as Kineto and sheaf write them. Times are in microseconds.
namespace sheaf::profile {

struct When {
  double begin = 0;
  double end = 0;
};

struct Where {
  int thread = 1;
  /// What the event has beside its name.
  std::string arguments = "{}";
};

inline std::string event(const std::string& category,
                         const std::string& name,
                         const When& when,
                         const Where& where = {}) {
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 10, "tid": {}, "ts": {}, "dur": {}, "args": {}}})",
      category,
      name,
      where.thread,
      when.begin,
      when.end - when.begin,
      where.arguments);
}

inline std::string range(const std::string& kind, const When& when) {
  return event("sheaf", kind, when, {2, fmt::format(R"({{"kind": "{}"}})", kind)});
}

inline std::string exchange(const std::string& collective,
                            const std::string& purpose,
                            std::int64_t bytes,
                            const When& when) {
  return event("sheaf",
               collective,
               when,
               {3,
                fmt::format(R"({{"kind": "collective", "collective": "{}", "purpose": "{}", )"
                            R"("bytes": {}, "group": "world", "call": 1}})",
                            collective,
                            purpose,
                            bytes)});
}

/// `members` stand before the list of events.
inline std::string trace_text(const std::vector<std::string>& events,
                              const std::string& members = "") {
  std::string text = "{" + members + "\"traceEvents\": [\n";
  for (std::size_t i = 0; i < events.size(); ++i) text += (i > 0 ? ",\n" : "") + events[i];
  return text + "\n], \"baseTimeNanoseconds\": 1000000}";
}

}  // namespace sheaf::profile
