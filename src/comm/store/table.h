#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sheaf::comm::store {

/// The keys and values of a store, with the rules of c10d's stores.
class Table {
 public:
  void set(const std::string& key, std::string value) { values_[key] = std::move(value); }
  [[nodiscard]] const std::string* find(const std::string& key) const;
  [[nodiscard]] bool has_all(const std::vector<std::string>& keys) const;
  /// Adds to a number, 0 if it is not there, that others see as a decimal text; nothing if the
  /// value is no number.
  std::optional<std::int64_t> add(const std::string& key, std::int64_t amount);
  /// Sets the key if it holds `expected`, or is not there and that is empty; returns what it then
  /// holds, and `expected` where there is still no such key.
  std::string compare_set(const std::string& key,
                          const std::string& expected,
                          const std::string& desired);
  bool erase(const std::string& key) { return values_.erase(key) > 0; }
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(values_.size()); }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace sheaf::comm::store
