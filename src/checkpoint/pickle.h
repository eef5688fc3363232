#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sheaf/checkpoint/safetensors.h"

namespace sheaf::checkpoint {

/// Writes the bytes of Python's pickle (protocol 2) for the few kinds of objects that exports need.
/// Calls nest as the objects do:
///
///   pickle.begin_dict(); pickle.text("a"); pickle.integer(1); pickle.end_dict();
class Pickle {
 public:
  Pickle();

  void boolean(bool value) { bytes_ += value ? '\x88' : '\x89'; }
  void integer(std::int64_t value);
  void text(std::string_view value);
  /// Names a class, function or constant of a module.
  void global(std::string_view module, std::string_view name);
  void begin_dict() { bytes_ += "}("; }
  void end_dict() { bytes_ += 'u'; }
  void begin_list() { bytes_ += "]("; }
  void end_list() { bytes_ += 'e'; }
  void begin_tuple() { bytes_ += '('; }
  void end_tuple() { bytes_ += 't'; }
  void integers(const std::vector<std::int64_t>& values);
  /// Calls a global: begin_call(module, name), arguments, end_call().
  void begin_call(std::string_view module, std::string_view name);
  void end_call() { bytes_ += "tR"; }
  /// Writes a contiguous tensor whose values are record `key` of torch's file. Throws UsageError
  /// for a type that torch's files do not have.
  void tensor(const TensorSpec& tensor, const std::string& key);
  /// Writes torch.Size.
  void size(const std::vector<std::int64_t>& sizes);

  /// Returns all bytes, with the end; nothing may follow.
  [[nodiscard]] std::string finish();

 private:
  std::string bytes_;
};

/// Returns what Python's torch calls a type, such as "float32". Throws UsageError.
[[nodiscard]] std::string_view torch_name(at::ScalarType dtype);

}  // namespace sheaf::checkpoint
