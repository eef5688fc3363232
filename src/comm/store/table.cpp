#include "table.h"

#include <algorithm>
#include <charconv>

namespace sheaf::comm::store {

const std::string* Table::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

bool Table::has_all(const std::vector<std::string>& keys) const {
  return std::all_of(
      keys.begin(), keys.end(), [&](const auto& key) { return values_.contains(key); });
}

std::optional<std::int64_t> Table::add(const std::string& key, std::int64_t amount) {
  std::string& value = values_.try_emplace(key, "0").first->second;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
  if (__builtin_add_overflow(number, amount, &number)) return std::nullopt;
  value = std::to_string(number);
  return number;
}

std::string Table::compare_set(const std::string& key,
                               const std::string& expected,
                               const std::string& desired) {
  const std::string* value = find(key);
  if (value == nullptr && !expected.empty()) return expected;
  if (value != nullptr && *value != expected) return *value;
  set(key, desired);
  return desired;
}

}  // namespace sheaf::comm::store
