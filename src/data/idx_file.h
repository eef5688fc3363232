#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sheaf::data {

/// The unsigned bytes of an IDX file, plain or packed by gzip.
struct IdxFile {
  /// Sizes of the dimensions.
  std::vector<std::int64_t> shape;
  std::vector<std::byte> elements;
};

/// Reads a file of `num_dims` dimensions. Throws UsageError, which names the file, if it is no such
/// file, damaged, or empty; IoError if the system refuses.
[[nodiscard]] IdxFile read_idx_file(const std::string& path, std::size_t num_dims);

}  // namespace sheaf::data
