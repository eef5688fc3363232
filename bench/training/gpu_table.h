#pragma once

#include <string>
#include <vector>

#include "program.h"
#include "shared_gpu.h"

namespace sheaf::bench {

/// Prints outcomes as they come, as a table in markdown, and keeps them for a file.
class GpuTable {
 public:
  explicit GpuTable(const ProgramOptions& options);

  void add(const Outcome& outcome);
  /// Prints the clocks as they are then and writes the file, where one is wanted. Throws IoError.
  void finish() const;

 private:
  const ProgramOptions& options_;
  std::string versions_;
  std::string state_before_;
  std::vector<Outcome> outcomes_;
};

}  // namespace sheaf::bench
