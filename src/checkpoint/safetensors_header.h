#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sheaf/checkpoint/safetensors.h"

// The header of a safetensors file: its length as eight bytes, little-endian, then that many bytes
// of JSON, {"NAME": {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}, ...}, in which
// offsets count from its end. "__metadata__" may hold texts.

namespace sheaf::checkpoint {

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;
  Metadata metadata;
};

/// Reads and checks the header of a whole file. Throws UsageError that says what is wrong, without
/// the file's name.
[[nodiscard]] SafetensorsHeader parse_header(std::span<const std::byte> file);

/// Returns the header's bytes, its length included. Entries have their places already, counted
/// from 0.
[[nodiscard]] std::string format_header(const std::vector<TensorEntry>& tensors,
                                        const Metadata& metadata);

}  // namespace sheaf::checkpoint
