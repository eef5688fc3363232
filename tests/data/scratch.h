#pragma once

#include <cstdint>
#include <string>

#include "support/temporary_folder.h"

namespace sheaf::data::testing {

using Scratch = sheaf::testing::TemporaryFolder;

[[nodiscard]] std::string read_bytes(const std::string& path);

/// Returns the bytes of a little-endian and of a big-endian number.
[[nodiscard]] std::string little(std::uint64_t value, int bytes);
[[nodiscard]] std::string big(std::uint32_t value);

/// Returns the bytes of IDX files: images whose pixels count up, and labels 0 to 9 in turn.
[[nodiscard]] std::string idx_images(std::uint32_t count, std::uint32_t side = 28);
[[nodiscard]] std::string idx_labels(std::uint32_t count);
/// Writes all four files of digits: 12 for training and 10 for evaluation.
void write_digits(const Scratch& scratch);

/// Returns `bytes` packed by gzip.
[[nodiscard]] std::string gzipped(const std::string& bytes);

}  // namespace sheaf::data::testing
