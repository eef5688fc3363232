#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assembly.h"
#include "sheaf/train/options.h"

namespace sheaf::train {

/// Finds weights that several ranks keep copies of and that are not the same there, as after a bit
/// that has flipped in memory. A checkpoint is compared before it is saved, so that the run can go
/// back to it.
class SyncCheck {
 public:
  SyncCheck(const RunOptions& options, const Assembly& parts);

  [[nodiscard]] bool is_due(std::int64_t step, bool last) const;
  /// Returns the sentence that names ranks and unit, the same on all ranks; nothing where all is
  /// well. One exchange. Every rank must call it.
  [[nodiscard]] std::optional<std::string> find_difference(std::int64_t step) const;

 private:
  [[nodiscard]] std::vector<std::uint64_t> own_fingerprints() const;
  [[nodiscard]] std::optional<std::string> compare(const std::vector<std::uint64_t>& all) const;

  const RunOptions& options_;
  const Assembly& parts_;
  /// Whether ranks keep only parts of the masters, and whether they keep whole parameters.
  bool cuts_state_;
  bool keeps_whole_;
};

}  // namespace sheaf::train
