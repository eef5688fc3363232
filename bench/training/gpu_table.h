#pragma once

#include <string>
#include <vector>

#include "program.h"
#include "shared_gpu.h"

namespace sheaf::bench {

/// Prints outcomes as they come, as a table in markdown, and writes them to a file, where one is
/// wanted: a run that is cut off leaves what it has.
class GpuTable {
 public:
  explicit GpuTable(const ProgramOptions& options);

  /// Throws IoError.
  void add(const Outcome& outcome);
  /// Prints the clocks as they are then. Throws IoError.
  void finish();

 private:
  void save() const;

  const ProgramOptions& options_;
  std::string versions_;
  std::string state_before_;
  std::string state_after_;
  std::vector<Outcome> outcomes_;
};

}  // namespace sheaf::bench
