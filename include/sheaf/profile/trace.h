#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sheaf/profile/account.h"
#include "sheaf/profile/intervals.h"

namespace sheaf::profile {

/// What an event of a trace is. The first four are Kineto's, the others named ranges of sheaf's.
enum class EventKind : std::uint8_t {
  operation,
  annotation,
  kernel,
  copy,
  step,
  data,
  forward,
  backward,
  optimizer,
  unit,
  collective,
  wait,
};

struct TraceEvent {
  EventKind kind = EventKind::operation;
  /// Index into Trace::names; of a collective its kind, such as all_gather.
  std::uint32_t name = 0;
  /// The same; of a collective what it was for.
  std::uint32_t purpose = 0;
  int rank = 0;
  std::int64_t thread = 0;
  /// Nanoseconds.
  Interval time;
  std::int64_t bytes = 0;
};

/// What a trace says about the rank it is of.
struct TraceOwner {
  int rank = 0;
  std::string strategy;
  /// What the rank's groups counted while it was recorded; empty in traces of others.
  std::vector<CollectiveUse> traffic;
};

struct Trace {
  std::vector<std::string> names;
  std::vector<TraceEvent> events;
  /// In the order of ranks; one of rank 0 for a trace that does not say.
  std::vector<TraceOwner> owners;
};

/// Reads a Chrome trace as Kineto writes it, of one rank or merged, or a folder with one per rank
/// (trace_rank0.json ...). Only what reports are made of is kept, so that large files fit. Throws
/// UsageError that says in one sentence what is wrong with the file, IoError if it cannot be read.
[[nodiscard]] Trace read_trace(const std::string& path);

/// One rank's trace on its way into the common one.
struct TracePart {
  std::string path;
  int rank = 0;
  /// What to add to its times, in nanoseconds.
  std::int64_t clock_shift = 0;
};

/// Writes the traces of several ranks into one file, by the clock of the first. Throws as above.
void merge_traces(const std::vector<TracePart>& parts, const std::string& path);

/// Returns the name of a rank's trace in a run's folder, and of the one of all ranks.
[[nodiscard]] std::string trace_name(int rank);
inline constexpr const char* kMergedTrace = "trace.json";

}  // namespace sheaf::profile
