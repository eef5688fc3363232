// Any bytes as a Chrome trace: a report is made of it and compared, or it is refused with a
// UsageError.
#include <cstddef>
#include <cstdint>

#include "memory_file.h"
#include "sheaf/base/error.h"
#include "sheaf/profile/trace.h"
#include "sheaf/profile/trace_difference.h"
#include "sheaf/profile/trace_report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const sheaf::fuzz::MemoryFile file({bytes, size});
  try {
    const auto ranks = sheaf::profile::report_on(sheaf::profile::read_trace(file.path()));
    static_cast<void>(sheaf::profile::judge(ranks, {}));
    if (!ranks.empty()) {
      static_cast<void>(sheaf::profile::difference(ranks.front(), ranks.back()));
    }
    for (const auto& rank : ranks) {
      if (rank.times.idle.count() < 0 || rank.times.compute > rank.times.time) __builtin_trap();
    }
  } catch (const sheaf::UsageError&) {
    return 0;
  }
  return 0;
}
