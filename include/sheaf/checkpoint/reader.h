#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sheaf/checkpoint/manifest.h"
#include "sheaf/checkpoint/part.h"

namespace sheaf::checkpoint {

/// A checkpoint to read, any part of any tensor. What it gives has been compared with the hashes of
/// the manifest, so nothing that is damaged is ever given.
class Reader {
 public:
  /// Reads the manifest and checks all but the values: that every file is there with its size and
  /// its header, and no other file. Throws Damaged that names the file, UnknownVersion, IoError.
  explicit Reader(const std::string& folder);
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) = delete;

  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] const Manifest& manifest() const;
  /// Returns the tensor of this name; null where there is none.
  [[nodiscard]] const SavedTensor* find(const std::string& name) const;

  /// Copies elements of the flattened tensor, from `begin` on, to `target`, which is flat and
  /// contiguous and may have another type and device. Reads the pieces that have any of them, and
  /// takes the memory of one at most. Throws Damaged that names the file and the tensor, IoError,
  /// and UsageError if the tensor has not that many.
  void read(const std::string& name, std::int64_t begin, const at::Tensor& target) const;
  /// The same for many, with two threads where all targets are the host's.
  void read(const std::vector<Part>& targets) const;

  /// Reads and compares all values, and hands each problem on in words. Throws IoError.
  void verify(const std::function<void(const std::string&)>& problem) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Opens a checkpoint as its constructor does; where the folder has the name of a step, that step
/// must be the one it was saved at, because a folder may have been renamed. Throws Damaged if not.
[[nodiscard]] Reader open_step(const std::string& path);

}  // namespace sheaf::checkpoint
