#pragma once

#include <filesystem>

#include "study/watch/http.h"
#include "study/watch/live_run.h"

namespace sheaf::study {

/// Answers what the live page of a run asks for: the page itself and /metrics?since=N. There are no
/// other paths.
class WatchSite {
 public:
  explicit WatchSite(const std::filesystem::path& folder);

  [[nodiscard]] Response answer(const Request& request);

 private:
  std::string page_;
  LiveRun run_;
};

}  // namespace sheaf::study
