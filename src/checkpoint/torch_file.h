#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/disk.h"
#include "checkpoint/pickle.h"
#include "sheaf/checkpoint/reader.h"

namespace sheaf::checkpoint {

/// Takes bytes that come one after the other, and returns how many it took.
using Sink = std::function<std::size_t(const void*, std::size_t)>;

/// Returns a sink that writes to a file from `end` on, and moves `end`. All must outlive it.
[[nodiscard]] Sink append_to(const File& file, std::uint64_t& end, Disk& disk);

/// Writes a file of torch.save(): `object` names tensors by their number as the key of their
/// record. One tensor at a time is in memory. Throws what the sink and the reader throw.
void write_torch(const Sink& sink,
                 std::string object,
                 const Reader& reader,
                 const std::vector<const SavedTensor*>& tensors);

/// Writes a checkpoint as torch.distributed.checkpoint's FileSystemReader reads it into a folder
/// that is there: one file with tensors, and .metadata. Throws IoError, and what the reader throws.
void write_dcp(const std::string& folder,
               const Reader& reader,
               const std::vector<const SavedTensor*>& tensors);

}  // namespace sheaf::checkpoint
