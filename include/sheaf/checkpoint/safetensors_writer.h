#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sheaf/checkpoint/safetensors.h"

namespace sheaf::checkpoint {

/// Where everything will lie in a safetensors file. Pure arithmetic: the same tensors give the same
/// plan on every rank.
class SafetensorsPlan {
 public:
  /// Wider types come first, so that all values are aligned. Throws UsageError for two tensors of
  /// one name, and for types that the format does not have.
  explicit SafetensorsPlan(std::vector<TensorSpec> tensors, const Metadata& metadata = {});

  /// Returns the bytes in front of the values.
  [[nodiscard]] const std::string& header() const { return header_; }
  [[nodiscard]] const std::vector<TensorEntry>& tensors() const { return tensors_; }
  [[nodiscard]] const TensorEntry* find(std::string_view name) const;
  /// Returns the size of the whole file in bytes.
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  std::string header_;
  std::vector<TensorEntry> tensors_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::uint64_t size_ = 0;
};

/// `first` makes the file, writes its header and moves it to its place at the end; `other` joins in
/// after that.
enum class WriterRole { first, other };

/// Writes the values of a planned file, any part at any time. Several writers, in one process or in
/// many, may write parts of one file. It has another name until it is whole: when all `other`
/// writers have finished, the first one moves it to its place.
class SafetensorsWriter {
 public:
  /// Throws IoError.
  SafetensorsWriter(std::string path, SafetensorsPlan plan, WriterRole role = WriterRole::first);
  /// Removes the file if it is the first writer and has not finished.
  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  [[nodiscard]] const SafetensorsPlan& plan() const { return plan_; }
  /// Writes elements of the flattened tensor, from `begin` on, in the type that the plan says.
  /// Throws UsageError if the tensor has not that many, IoError.
  void write(std::string_view name, std::int64_t begin, const at::Tensor& values);
  /// Returns the bytes of values that this writer has written.
  [[nodiscard]] std::uint64_t written() const { return written_; }
  /// Waits until the disk has everything; the first writer then moves the file to its place.
  void finish();

 private:
  void write_bytes(std::uint64_t offset, const void* bytes, std::uint64_t size);
  [[noreturn]] void refuse(const char* what) const;

  std::string path_;
  std::string temporary_;
  SafetensorsPlan plan_;
  WriterRole role_;
  int fd_ = -1;
  std::uint64_t written_ = 0;
};

}  // namespace sheaf::checkpoint
