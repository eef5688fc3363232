#include "sheaf/optim/rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quoting.h"
#include "checks.h"
#include "sheaf/base/error.h"
#include "sheaf/base/nearest.h"

namespace sheaf::optim {
namespace {

bool fits(const Slot& slot, const ParameterRule& rule) {
  const bool dims_fit = rule.max_dims < 0 || static_cast<int>(slot.shape.size()) <= rule.max_dims;
  return dims_fit && name_fits(slot.name, rule.names);
}

/// Adds a name, and every part of it that ends before a dot.
void add_prefixes(const std::string& name, std::vector<std::string>& to) {
  for (auto dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    to.push_back(name.substr(0, dot));
  }
  to.push_back(name);
}

std::vector<std::string> names_and_prefixes(const std::vector<Segment>& segments) {
  std::vector<std::string> names;
  for (const Segment& segment : segments) {
    for (const Slot& slot : segment.slots) add_prefixes(slot.name, names);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

/// Returns what was probably meant by a pattern that fits nothing; a star is understood
/// only at its end.
std::string hint(std::string_view pattern, const std::vector<Segment>& segments) {
  const std::string_view end = pattern.ends_with(".*") ? ".*" : "";
  const std::string_view start = pattern.substr(0, pattern.size() - end.size());
  if (start.find('*') != std::string_view::npos) return "";
  const auto meant = nearest(start, names_and_prefixes(segments));
  return meant ? fmt::format(", did you mean {}{}?", *meant, end) : "";
}

void check_rule(const ParameterRule& rule, const std::vector<Segment>& segments) {
  const auto has_name = [&](const Slot& slot) { return name_fits(slot.name, rule.names); };
  const auto has_slot = [&](const Segment& each) {
    return std::ranges::any_of(each.slots, has_name);
  };
  if (!std::ranges::any_of(segments, has_slot)) {
    throw UsageError(fmt::format("no parameter has the name of a rule, {}{}",
                                 in_quotes(rule.names),
                                 hint(rule.names, segments)));
  }
  const std::string where = "of the rule for " + in_quotes(rule.names);
  if (rule.max_dims < -1) {
    throw UsageError(fmt::format("max_dims {} must be at least -1, got {}", where, rule.max_dims));
  }
  check_not_negative("learning_rate_factor " + where, rule.learning_rate_factor.value_or(0));
  check_not_negative("weight_decay " + where, rule.weight_decay.value_or(0));
}

ParameterSettings settings_of(const Slot& slot,
                              std::span<const ParameterRule> rules,
                              ParameterSettings settings) {
  double factor = 1;
  for (const ParameterRule& rule : rules) {
    if (!fits(slot, rule)) continue;
    factor = rule.learning_rate_factor.value_or(factor);
    settings.weight_decay = rule.weight_decay.value_or(settings.weight_decay);
  }
  settings.learning_rate *= factor;
  return settings;
}

}  // namespace

bool name_fits(std::string_view name, std::string_view pattern) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  // The piece up to the next star may be taken where it first occurs: what is left only gets
  // longer.
  for (auto next = pattern.find('*'); next != std::string_view::npos; next = pattern.find('*')) {
    const auto found = name.find(pattern.substr(0, next));
    if (found == std::string_view::npos) return false;
    name.remove_prefix(found + next);
    pattern.remove_prefix(next + 1);
  }
  return name.ends_with(pattern);
}

std::vector<std::vector<ParameterSettings>> apply_rules(std::span<const ParameterRule> rules,
                                                        const std::vector<Segment>& segments,
                                                        ParameterSettings settings) {
  for (const ParameterRule& rule : rules) check_rule(rule, segments);
  std::vector<std::vector<ParameterSettings>> result;
  for (const Segment& segment : segments) {
    auto& of_segment = result.emplace_back();
    for (const Slot& slot : segment.slots) of_segment.push_back(settings_of(slot, rules, settings));
  }
  return result;
}

}  // namespace sheaf::optim
