#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::data::bpe {

/// One object of a JSON file and its place there, such as "model", for messages. Members that are
/// null count as not there. All functions throw UsageError for what is of another kind.
class JsonView {
 public:
  JsonView(const nlohmann::json& value, std::string place);

  [[nodiscard]] const std::string& place() const { return place_; }
  /// Returns what is under a name; null where there is nothing.
  [[nodiscard]] const nlohmann::json* find(std::string_view name) const;
  [[nodiscard]] std::optional<JsonView> object(std::string_view name) const;
  [[nodiscard]] JsonView required_object(std::string_view name) const;
  [[nodiscard]] std::vector<JsonView> objects(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name, std::string_view otherwise) const;
  [[nodiscard]] bool flag(std::string_view name, bool otherwise) const;
  /// Returns a whole number of at least 0.
  [[nodiscard]] std::uint64_t number(std::string_view name) const;

  [[noreturn]] void refuse(const std::string& what) const;

 private:
  [[nodiscard]] std::string place_of(std::string_view name) const;

  const nlohmann::json* value_;
  std::string place_;
};

/// Returns a token's number. Throws UsageError, which names `place`, for what cannot be one.
[[nodiscard]] std::uint32_t id_from(const nlohmann::json& value, const std::string& place);

/// Reads a JSON file into memory. Throws UsageError if it is none.
[[nodiscard]] nlohmann::json read_json(const std::string& path);
[[nodiscard]] nlohmann::json parse_json(std::string_view text);

}  // namespace sheaf::data::bpe
