#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sheaf/base/limits.h"
#include "sheaf/base/units.h"

namespace sheaf {

enum class FieldKind {
  boolean,
  integer,
  number,
  text,
  size,
  time,
  choice,
  texts,
  integers,
  numbers
};

/// Returns a word or two for people, such as "integer" or "list of texts".
[[nodiscard]] std::string_view kind_name(FieldKind kind);

/// An enum member whose type was erased.
struct EnumMember {
  using Name = std::pair<std::string_view, std::int64_t>;

  /// All names in the order of enum_names.
  std::vector<Name> names;
  std::function<std::int64_t()> read;
  std::function<void(std::int64_t)> write;
};

/// The member that a Field reads and writes. The order is that of FieldKind, with two integers.
using FieldMember = std::variant<bool*,
                                 int*,
                                 std::int64_t*,
                                 double*,
                                 std::string*,
                                 Bytes*,
                                 Seconds*,
                                 EnumMember,
                                 std::vector<std::string>*,
                                 std::vector<std::int64_t>*,
                                 std::vector<double>*>;

struct FieldLimit {
  Bounds bounds;
  std::vector<std::string> choices;
};

/// One member of an options struct, known by its dotted path; the struct must outlive it.
class Field {
 public:
  Field(std::string path, FieldMember member, std::string help, FieldLimit limit);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& help() const { return help_; }
  [[nodiscard]] FieldKind kind() const;
  /// Returns what a value looks like: "an integer", "a time such as 30s or 5min", "ddp or zero1".
  [[nodiscard]] std::string expected() const;
  /// Returns the limit in words, such as "at least 1" or "ddp or zero1"; empty without one.
  [[nodiscard]] std::string allowed() const;
  /// Returns the TOML literal of the value that the member had when the field was made.
  [[nodiscard]] const std::string& default_literal() const { return default_literal_; }
  /// Returns the member's value now as a TOML literal.
  [[nodiscard]] std::string literal() const;

  /// Reads the value from a text; items of a list are separated by commas. Throws UsageError that
  /// names the path, and leaves the member as it was.
  void set(std::string_view text);
  /// The same for the items of a list, which may hold commas.
  void set_items(const std::vector<std::string>& items);

 private:
  std::string path_;
  FieldMember member_;
  std::string help_;
  FieldLimit limit_;
  std::string default_literal_;
};

/// Returns the field with that path, or null.
[[nodiscard]] Field* find_field(std::span<Field> fields, std::string_view path);

}  // namespace sheaf
