#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::checkpoint {

/// What a safetensors file holds under a name.
struct TensorSpec {
  std::string name;
  at::ScalarType dtype = at::kFloat;
  std::vector<std::int64_t> shape;

  [[nodiscard]] std::int64_t numel() const;
};

/// The same, and where its bytes lie.
struct TensorEntry {
  TensorSpec tensor;
  /// First byte, counted from the start of the file.
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
};

/// Text that a file carries beside its tensors, such as {"format", "pt"}.
using Metadata = std::map<std::string, std::string>;

/// A safetensors file, mapped into memory. Its header has been checked: every tensor has its bytes
/// inside the file, no two share any, and there are no others.
class SafetensorsFile {
 public:
  /// Throws UsageError that names the file for one that is not there or damaged, IoError if the
  /// system refuses.
  explicit SafetensorsFile(const std::string& path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) = delete;

  /// Returns all tensors, in the order of their bytes.
  [[nodiscard]] const std::vector<TensorEntry>& tensors() const;
  [[nodiscard]] const Metadata& metadata() const;
  /// Returns the tensor of this name; null where there is none.
  [[nodiscard]] const TensorEntry* find(std::string_view name) const;

  /// Copies elements of the flattened tensor, from `begin` on, to `target`, which is flat and
  /// contiguous and may have another type and device. Takes the memory of a small piece at most.
  /// Throws UsageError if the tensor has not that many.
  void read(const TensorEntry& entry, std::int64_t begin, const at::Tensor& target) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sheaf::checkpoint
