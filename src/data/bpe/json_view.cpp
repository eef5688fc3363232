#include "data/bpe/json_view.h"

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "base/quoting.h"
#include "data/bpe/definition.h"
#include "sheaf/base/error.h"

namespace sheaf::data::bpe {

using nlohmann::json;

namespace {

bool is_count(const json& value) {
  return value.is_number_unsigned() ||
         (value.is_number_integer() && value.get<std::int64_t>() >= 0);
}

}  // namespace

JsonView::JsonView(const json& value, std::string place)
    : value_(&value), place_(std::move(place)) {
  if (!value.is_object()) refuse(fmt::format("must be an object, got {}", value.type_name()));
}

void JsonView::refuse(const std::string& what) const {
  throw UsageError(fmt::format("{} {}", place_.empty() ? "the file" : place_, what));
}

std::string JsonView::place_of(std::string_view name) const {
  return place_.empty() ? std::string(name) : fmt::format("{}.{}", place_, name);
}

const json* JsonView::find(std::string_view name) const {
  const auto found = value_->find(name);
  return found == value_->end() || found->is_null() ? nullptr : &*found;
}

std::optional<JsonView> JsonView::object(std::string_view name) const {
  const json* found = find(name);
  return found == nullptr ? std::nullopt : std::optional(JsonView(*found, place_of(name)));
}

JsonView JsonView::required_object(std::string_view name) const {
  const auto found = object(name);
  if (!found) refuse(fmt::format("has no '{}'", name));
  return *found;
}

std::vector<JsonView> JsonView::objects(std::string_view name) const {
  std::vector<JsonView> list;
  const json* found = find(name);
  if (found == nullptr) return list;
  if (!found->is_array()) {
    refuse(fmt::format("must have a list '{}', got {}", name, found->type_name()));
  }
  for (const json& each : *found) {
    list.emplace_back(each, fmt::format("{}[{}]", place_of(name), list.size()));
  }
  return list;
}

std::string JsonView::text(std::string_view name) const {
  const json* found = find(name);
  if (found == nullptr) refuse(fmt::format("has no '{}'", name));
  if (!found->is_string()) {
    refuse(fmt::format("must have a text '{}', got {}", name, found->type_name()));
  }
  return found->get<std::string>();
}

std::string JsonView::text(std::string_view name, std::string_view otherwise) const {
  return find(name) == nullptr ? std::string(otherwise) : text(name);
}

bool JsonView::flag(std::string_view name, bool otherwise) const {
  const json* found = find(name);
  if (found == nullptr) return otherwise;
  if (!found->is_boolean()) {
    refuse(fmt::format("must have '{}' true or false, got {}", name, found->type_name()));
  }
  return found->get<bool>();
}

std::uint64_t JsonView::number(std::string_view name) const {
  const json* found = find(name);
  if (found == nullptr) refuse(fmt::format("has no '{}'", name));
  if (!is_count(*found)) {
    refuse(fmt::format("must have a whole number '{}' of at least 0", name));
  }
  return found->get<std::uint64_t>();
}

std::uint32_t id_from(const json& value, const std::string& place) {
  if (!is_count(value)) {
    throw UsageError(
        fmt::format("{}: a token's number must be a whole number of at least 0", place));
  }
  const auto id = value.get<std::uint64_t>();
  if (id >= static_cast<std::uint64_t>(kMostTokens)) {
    throw UsageError(
        fmt::format("{}: a token's number must be below {}, got {}", place, kMostTokens, id));
  }
  return static_cast<std::uint32_t>(id);
}

json parse_json(std::string_view text) {
  try {
    return json::parse(text);
  } catch (const json::exception& error) {
    // The library's text begins with its own name in brackets, and may hold bytes of the file.
    const std::string_view what = error.what();
    throw UsageError(
        fmt::format("this is not JSON: {}", in_quotes(what.substr(what.find(']') + 2))));
  }
}

json read_json(const std::string& path) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  return parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace sheaf::data::bpe
