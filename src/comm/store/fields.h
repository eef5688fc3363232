#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::comm::store {

/// What a joiner may ask of the store.
enum class Operation : std::uint8_t {
  introduce,  // name
  leave,
  set,          // key, value
  get,          // timeout, key: waits for it
  add,          // key, amount
  compare_set,  // key, expected, desired
  check,        // keys
  wait,         // timeout, keys
  erase,        // key
  count,
  lost,
};

/// How the store answers.
enum class Answer : std::uint8_t { done, no, late, nonsense };

/// A text of several fields, each with its length before it.
class FieldsWriter {
 public:
  explicit FieldsWriter(Operation operation) : text_(1, static_cast<char>(operation)) {}
  explicit FieldsWriter(Answer answer) : text_(1, static_cast<char>(answer)) {}

  FieldsWriter& add(std::string_view field);
  FieldsWriter& add(std::int64_t number) { return add(std::to_string(number)); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Reads such a text. Throws CommError where it is none.
class FieldsReader {
 public:
  explicit FieldsReader(std::string_view text);

  /// Returns the operation or the answer.
  [[nodiscard]] std::uint8_t kind() const { return kind_; }
  [[nodiscard]] std::string next();
  [[nodiscard]] std::int64_t next_number();
  [[nodiscard]] std::vector<std::string> rest();

 private:
  std::uint8_t kind_;
  std::string_view left_;
};

}  // namespace sheaf::comm::store
