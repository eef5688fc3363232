#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "checkpoint/disk.h"
#include "checkpoint/pickle.h"
#include "sheaf/checkpoint/reader.h"

namespace sheaf::checkpoint {

/// Writes bytes to a file, one after the other. LibTorch's writer writes once more in its
/// destructor when something went wrong, where nothing may be thrown: so a failure is kept until it
/// is asked for, and what comes after it goes nowhere. Both arguments must outlive it.
class Appending {
 public:
  Appending(const File& file, Disk& disk) : file_(file), disk_(disk) {}

  /// Returns `size`, whatever happened.
  std::size_t append(const void* bytes, std::size_t size) noexcept;
  /// Throws what the disk threw.
  void check() const;
  /// Returns the bytes that the file has by now.
  [[nodiscard]] std::uint64_t end() const { return end_; }

 private:
  const File& file_;
  Disk& disk_;
  std::uint64_t end_ = 0;
  std::exception_ptr failure_;
};

/// Writes a file of torch.save(): `object` names tensors by their number as the key of their
/// record. One tensor at a time is in memory. Throws IoError, and what the reader throws.
void write_torch(Appending& file,
                 std::string object,
                 const Reader& reader,
                 const std::vector<const SavedTensor*>& tensors);

/// Writes a checkpoint as torch.distributed.checkpoint's FileSystemReader reads it into a folder
/// that is there: one file with tensors, and .metadata. Throws IoError, and what the reader throws.
void write_dcp(const std::string& folder,
               const Reader& reader,
               const std::vector<const SavedTensor*>& tensors,
               Disk& disk);

}  // namespace sheaf::checkpoint
