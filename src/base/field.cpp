#include "sheaf/base/field.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <stdexcept>
#include <type_traits>

#include "base/literal.h"
#include "base/quoting.h"
#include "sheaf/base/error.h"
#include "sheaf/base/nearest.h"

namespace sheaf {
namespace {

template <class T>
std::string edge_text(long double edge) {
  if constexpr (std::is_same_v<T, Bytes>) {
    return exact_text(Bytes{static_cast<std::int64_t>(edge)});
  } else if constexpr (std::is_same_v<T, Seconds>) {
    return exact_text(Seconds(static_cast<double>(edge)));
  } else if constexpr (std::is_same_v<T, double>) {
    return exact_text(static_cast<double>(edge));
  } else {
    return exact_text(static_cast<std::int64_t>(edge));
  }
}

template <class T>
std::string bounds_text(const Bounds& bounds) {
  if (bounds.low && bounds.high) {
    return fmt::format("between {} and {}", edge_text<T>(*bounds.low), edge_text<T>(*bounds.high));
  }
  if (bounds.low_is_excluded) return "positive";
  if (bounds.low) return "at least " + edge_text<T>(*bounds.low);
  if (bounds.high) return "at most " + edge_text<T>(*bounds.high);
  return "";
}

// Reads one value, or one item of a list, and holds it against the limit.
template <class T>
T read_within(std::string_view text, const FieldLimit& limit) {
  T value{};
  read_text(text, value);
  if constexpr (std::is_same_v<T, std::string>) {
    const bool is_choice = std::ranges::find(limit.choices, value) != limit.choices.end();
    if (!limit.choices.empty() && !is_choice) throw unreadable(join_or(limit.choices), text);
  } else {
    const Bounds& bounds = limit.bounds;
    const long double number = detail::edge(value);
    const bool is_low =
        bounds.low && (number < *bounds.low || (bounds.low_is_excluded && number == *bounds.low));
    if (is_low || (bounds.high && number > *bounds.high)) {
      throw UsageError(fmt::format("must be {}, got {}", bounds_text<T>(bounds), text));
    }
  }
  return value;
}

// The first name of each value.
std::vector<std::string> own_names(const EnumMember& member) {
  std::vector<std::string> names;
  std::vector<std::int64_t> seen;
  for (const auto& [name, value] : member.names) {
    if (std::ranges::find(seen, value) != seen.end()) continue;
    seen.push_back(value);
    names.emplace_back(name);
  }
  return names;
}

auto find_name(const EnumMember& member, std::string_view name) {
  return std::ranges::find(member.names, name, &EnumMember::Name::first);
}

std::string own_name(const EnumMember& member, std::int64_t value) {
  const auto found = std::ranges::find(member.names, value, &EnumMember::Name::second);
  return found == member.names.end() ? "?" : std::string(found->first);
}

std::string alias_text(const EnumMember& member) {
  std::string text;
  for (const auto& [name, value] : member.names) {
    const std::string own = own_name(member, value);
    if (own != name) text += fmt::format("{} {} for {}", text.empty() ? "; also" : ",", name, own);
  }
  return text;
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> items;
  if (text.empty()) return items;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto comma = std::min(text.find(',', begin), text.size());
    if (comma == begin) throw unreadable("an item before and after each comma", text);
    items.emplace_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return items;
}

// The three families of members: an enum, a list, and everything else.
void assign(const EnumMember& member, std::string_view text, const FieldLimit&) {
  const auto found = find_name(member, text);
  if (found == member.names.end()) throw unreadable(join_or(own_names(member)), text);
  member.write(found->second);
}

template <class Item>
void assign_items(std::vector<Item>* member,
                  const std::vector<std::string>& items,
                  const FieldLimit& limit) {
  std::vector<Item> values;
  values.reserve(items.size());
  for (const auto& item : items) values.push_back(read_within<Item>(item, limit));
  *member = std::move(values);
}

template <class Item>
void assign(std::vector<Item>* member, std::string_view text, const FieldLimit& limit) {
  assign_items(member, split_at_commas(text), limit);
}

template <class T>
void assign(T* member, std::string_view text, const FieldLimit& limit) {
  *member = read_within<T>(text, limit);
}

template <class Member>
void assign_items(const Member&, const std::vector<std::string>&, const FieldLimit&) {
  throw std::logic_error("only a list has items");
}

std::string literal_of(const EnumMember& member) {
  return toml_literal(own_name(member, member.read()));
}

template <class T>
std::string literal_of(const T* member) {
  return toml_literal(*member);
}

std::string allowed_text(const EnumMember& member, const FieldLimit&) {
  return join_or(own_names(member)) + alias_text(member);
}

template <class T>
std::string allowed_text(const std::vector<T>*, const FieldLimit& limit) {
  return bounds_text<T>(limit.bounds);
}

template <class T>
std::string allowed_text(const T*, const FieldLimit& limit) {
  return bounds_text<T>(limit.bounds);
}

template <class Action>
void with_path(const std::string& path, const Action& action) {
  try {
    action();
  } catch (const UsageError& error) {
    std::rethrow_exception(error.with_prefix(path + ": "));
  }
}

}  // namespace

std::string_view kind_name(FieldKind kind) {
  constexpr std::array<std::string_view, 10> kNames = {"boolean",
                                                       "integer",
                                                       "number",
                                                       "text",
                                                       "size",
                                                       "time",
                                                       "choice",
                                                       "list of texts",
                                                       "list of integers",
                                                       "list of numbers"};
  return kNames.at(static_cast<std::size_t>(kind));
}

Field::Field(std::string path, FieldMember member, std::string help, FieldLimit limit)
    : path_(std::move(path)),
      member_(std::move(member)),
      help_(std::move(help)),
      limit_(std::move(limit)),
      default_literal_(literal()) {}

FieldKind Field::kind() const {
  using enum FieldKind;
  constexpr std::array kKinds = {
      boolean, integer, integer, number, text, size, time, choice, texts, integers, numbers};
  static_assert(kKinds.size() == std::variant_size_v<FieldMember>);
  return kKinds.at(member_.index());
}

std::string Field::expected() const {
  if (const auto* member = std::get_if<EnumMember>(&member_)) return join_or(own_names(*member));
  constexpr std::array<std::string_view, 10> kExpected = {kExpectedBool,
                                                          "an integer",
                                                          kExpectedNumber,
                                                          "a text",
                                                          "a size such as 64MiB or 1.5GiB",
                                                          "a time such as 30s or 5min",
                                                          "",
                                                          "a list of texts",
                                                          "a list of integers",
                                                          "a list of numbers"};
  return std::string(kExpected.at(static_cast<std::size_t>(kind())));
}

std::string Field::allowed() const {
  if (!limit_.choices.empty()) return join_or(limit_.choices);
  return std::visit([this](const auto& member) { return allowed_text(member, limit_); }, member_);
}

std::string Field::literal() const {
  return std::visit([](const auto& member) { return literal_of(member); }, member_);
}

void Field::set(std::string_view text) {
  with_path(path_, [&] {
    std::visit([&](const auto& member) { assign(member, text, limit_); }, member_);
  });
}

void Field::set_items(const std::vector<std::string>& items) {
  with_path(path_, [&] {
    std::visit([&](const auto& member) { assign_items(member, items, limit_); }, member_);
  });
}

Field* find_field(std::span<Field> fields, std::string_view path) {
  const auto found = std::ranges::find(fields, path, &Field::path);
  return found == fields.end() ? nullptr : &*found;
}

}  // namespace sheaf
