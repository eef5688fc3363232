#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sheaf/optim/slot.h"

namespace sheaf::optim {

/// Settings of their own for some parameters, such as
///   {.max_dims = 1, .weight_decay = 0.0}                          no decay for biases and norms
///   {.names = "embedding.*", .learning_rate_factor = 0.1}         slow embeddings
/// A rule holds for a parameter if both its name and its dims fit. Rules are read in order and each
/// changes only the settings it names, so the last one that names a setting decides.
struct ParameterRule {
  /// The whole name; `*` stands for any letters, also none and also dots.
  std::string names = "*";
  /// Dims of the whole parameter, at most; -1 for any.
  int max_dims = -1;
  /// What the learning rate is multiplied with for these parameters.
  std::optional<double> learning_rate_factor = std::nullopt;
  std::optional<double> weight_decay = std::nullopt;
};

/// What an optimizer does with one parameter.
struct ParameterSettings {
  double learning_rate = 0;
  double weight_decay = 0;

  bool operator==(const ParameterSettings&) const = default;
};

/// Tells whether `name` is what `pattern` describes, where `*` stands for any letters.
[[nodiscard]] bool name_fits(std::string_view name, std::string_view pattern);

/// Returns the settings of every slot of every segment: `settings`, changed by the rules. Throws
/// UsageError for a rule with negative numbers, and for names that no slot has (but not for dims
/// that none has).
[[nodiscard]] std::vector<std::vector<ParameterSettings>> apply_rules(
    std::span<const ParameterRule> rules,
    const std::vector<Segment>& segments,
    ParameterSettings settings);

}  // namespace sheaf::optim
