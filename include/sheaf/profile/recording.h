#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sheaf/base/recorder.h"
#include "sheaf/profile/account.h"
#include "sheaf/profile/intervals.h"

namespace sheaf::profile {

struct RecordedStep {
  std::int64_t number = 0;
  Interval window;
};

/// What a trace says besides what Kineto has seen.
struct TraceNotes {
  int rank = 0;
  int ranks = 1;
  std::string strategy;
  /// What to add to this rank's times to get rank 0's, in nanoseconds.
  std::int64_t clock_shift = 0;
  std::vector<RecordedStep> steps;
  /// What the recorder heard in these steps; become named ranges.
  std::vector<Span> spans;
  /// What the groups counted in these steps: no time in it.
  std::vector<CollectiveUse> traffic;
};

/// Records with Kineto what all threads of this process do, and what its GPU does, from
/// construction on. Throws UsageError if another one does already: ranks that are threads cannot
/// have one each.
class Recording {
 public:
  explicit Recording(bool with_cuda);
  /// Ends it without a file, unless it was saved.
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// Ends it and writes a Chrome trace; `recorder` has the names of the spans. Throws IoError.
  void save(const std::string& path, const TraceNotes& notes, const Recorder& recorder);

 private:
  bool ended_ = false;
};

/// Returns what to add to times of Recorder::now() to get those of the wall clock, in nanoseconds.
[[nodiscard]] std::int64_t wall_clock_offset();

}  // namespace sheaf::profile
