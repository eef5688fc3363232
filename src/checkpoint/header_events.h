#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/safetensors_header.h"

namespace sheaf::checkpoint {

/// Takes the parts of a header's JSON as they are read, so that only what a header may have is ever
/// kept. Offsets are left as the text has them. Throws UsageError at the first thing that is wrong.
class HeaderEvents {
 public:
  [[nodiscard]] SafetensorsHeader& header() { return header_; }

  // What nlohmann's parser calls.
  bool null() { refuse_value("null"); }
  bool boolean(bool value) { refuse_value(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) { refuse_value(std::to_string(value)); }
  bool number_unsigned(std::uint64_t value);
  bool number_float(double value, const std::string& text);
  bool string(std::string& value);
  bool binary(nlohmann::json::binary_t& value);
  bool key(std::string& name);
  bool start_object(std::size_t size);
  bool end_object();
  bool start_array(std::size_t size);
  bool end_array();
  bool parse_error(std::size_t position,
                   const std::string& token,
                   const nlohmann::json::exception& error);

 private:
  /// What is being read: the whole header, the texts in it, a tensor, one of a tensor's lists.
  enum class Place { outside, header, metadata, tensor, shape, offsets, end };

  [[noreturn]] void refuse_value(const std::string& got) const;
  [[nodiscard]] std::string what_is_expected() const;
  void start_tensor();
  void end_tensor();

  SafetensorsHeader header_;
  Place place_ = Place::outside;
  std::string key_;
  std::set<std::string> names_;
  std::set<std::string> fields_;
  TensorEntry tensor_;
  std::vector<std::uint64_t> offsets_;
};

}  // namespace sheaf::checkpoint
