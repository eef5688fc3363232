#include "hub/config_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "checkpoint/json_object.h"
#include "sheaf/base/error.h"
#include "sheaf/base/nearest.h"

namespace sheaf::hub {

bool ConfigFields::has(const std::string& name) const {
  const auto found = config_.find(name);
  return found != config_.end() && !found->is_null();
}

void ConfigFields::refuse(const std::string& name, const std::string& expected) const {
  const std::string got = has(name) ? checkpoint::in_words(config_.at(name)) : "none";
  throw UsageError(fmt::format("{} must be {}, got {}", name, expected, got));
}

std::int64_t ConfigFields::size(const std::string& name, std::int64_t largest) const {
  const std::string expected = fmt::format("a whole number between 1 and {}", largest);
  if (!has(name) || !config_.at(name).is_number_integer()) refuse(name, expected);
  const auto& field = config_.at(name);
  const bool fits = field.is_number_unsigned() &&
                    field.get<std::uint64_t>() <= static_cast<std::uint64_t>(largest) &&
                    field.get<std::uint64_t>() > 0;
  if (!fits) refuse(name, expected);
  return field.get<std::int64_t>();
}

std::int64_t ConfigFields::size_or(const std::string& name,
                                   std::int64_t largest,
                                   std::int64_t otherwise) const {
  return has(name) ? size(name, largest) : otherwise;
}

double ConfigFields::number_or(const std::string& name,
                               double otherwise,
                               const std::string& expected) const {
  if (!has(name)) return otherwise;
  if (!config_.at(name).is_number()) refuse(name, expected);
  return config_.at(name).get<double>();
}

double ConfigFields::positive_or(const std::string& name, double otherwise) const {
  const double value = number_or(name, otherwise, "a number above 0");
  if (!(value > 0) || std::isinf(value)) refuse(name, "a number above 0");
  return value;
}

double ConfigFields::probability_or(const std::string& name, double otherwise) const {
  const double value = number_or(name, otherwise, "a number from 0 to below 1");
  if (!(value >= 0 && value < 1)) refuse(name, "a number from 0 to below 1");
  return value;
}

bool ConfigFields::flag_or(const std::string& name, bool otherwise) const {
  if (!has(name)) return otherwise;
  if (!config_.at(name).is_boolean()) refuse(name, "true or false");
  return config_.at(name).get<bool>();
}

std::string ConfigFields::text_or(const std::string& name, const std::string& otherwise) const {
  if (!has(name)) return otherwise;
  if (!config_.at(name).is_string()) refuse(name, "a text");
  return config_.at(name).get<std::string>();
}

std::vector<std::int64_t> ConfigFields::bits(const std::string& name) const {
  const auto& list = config_.at(name);
  const auto is_bit = [](const auto& item) { return item == 0 || item == 1; };
  if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_bit)) {
    refuse(name, "a list of zeros and ones");
  }
  std::vector<std::int64_t> bits;
  for (const auto& item : list) bits.push_back(item == 1 ? 1 : 0);
  return bits;
}

void ConfigFields::expect_one_of(const std::string& name,
                                 const std::vector<std::string>& possible) const {
  const std::string value = text_or(name, possible.front());
  if (std::find(possible.begin(), possible.end(), value) == possible.end()) {
    refuse(name, join_or(possible));
  }
}

void ConfigFields::expect_flag(const std::string& name, bool only) const {
  if (flag_or(name, only) != only) refuse(name, only ? "true" : "false");
}

void ConfigFields::expect_none(const std::string& name) const {
  if (has(name)) refuse(name, "missing or null");
}

}  // namespace sheaf::hub
