#pragma once

#include <cstdint>

#include "element_type.h"

// Free of torch: nvcc reads this too.

namespace sheaf::nn {

struct EmbeddedRows {
  ElementType type = ElementType::fp32;
  const void* table = nullptr;
  std::int64_t table_size = 0;
  const std::int64_t* indices = nullptr;
  /// Null: adds nothing.
  const void* positions_table = nullptr;
  std::int64_t positions_size = 0;
  /// Null: row i has position i % length.
  const std::int64_t* positions = nullptr;
  std::int64_t length = 1;
  std::int64_t num_rows = 0;
  std::int64_t width = 0;
  /// Whether all can be read and written in chunks.
  bool in_chunks = false;
  void* result = nullptr;
};

/// Rows to be added to those of a table, in the order of the rows that they go to.
struct AddedRows {
  ElementType type = ElementType::fp32;
  const void* rows = nullptr;
  /// Sorted; equal ones are neighbours.
  const int* indices = nullptr;
  /// Which row has the index.
  const std::int64_t* order = nullptr;
  std::int64_t num_rows = 0;
  std::int64_t width = 0;
  bool in_chunks = false;
  ElementType target_type = ElementType::fp32;
  void* target = nullptr;
  std::int64_t target_size = 0;
};

/// Both start a kernel in `stream`, a cudaStream_t of the current device, and throw Error if they
/// cannot. An index beyond the table gives a row that is no number, or is left out.
void launch_embed(const EmbeddedRows& all, void* stream);
void launch_add_rows(const AddedRows& all, void* stream);

}  // namespace sheaf::nn
