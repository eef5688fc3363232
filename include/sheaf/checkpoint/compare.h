#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sheaf/checkpoint/reader.h"

namespace sheaf::checkpoint {

/// How one tensor of two checkpoints differs.
struct Difference {
  std::string name;
  /// "only in the first", "only in the second", "shape", "type" or "values".
  std::string kind;
  /// Of values: how many differ, of how many, and by how much at most.
  std::int64_t count = 0;
  std::int64_t of = 0;
  double largest = 0;
};

/// Returns the tensors that are not the same in both, by name. Values are read only where their
/// hashes differ, a piece at a time. Throws as Reader::read() does.
[[nodiscard]] std::vector<Difference> compare(const Reader& first, const Reader& second);

}  // namespace sheaf::checkpoint
