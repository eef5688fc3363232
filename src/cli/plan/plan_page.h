#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/plan/model_argument.h"
#include "cli/plan_command.h"
#include "sheaf/plan/budget.h"
#include "sheaf/plan/choice.h"
#include "sheaf/plan/traffic.h"

namespace sheaf::cli {

/// What a strategy takes.
struct PlannedStrategy {
  plan::Setting setting;
  std::int64_t largest_batch = 0;
  std::vector<plan::Exchange> traffic;
  /// For each batch that was asked for.
  std::vector<plan::Candidate> candidates;
};

struct Plan {
  PlanRequest request;
  PlannedModel model;
  std::int64_t parameters = 0;
  std::int64_t sequence = 0;
  /// What tensors may take of a device.
  Bytes usable;
  std::vector<PlannedStrategy> strategies;
  /// The batch, among those asked for, that the recommendation is for.
  std::int64_t recommended_batch = 0;
  plan::Recommendation recommendation;
  std::optional<plan::Bill> bill;
  double flops_per_token = 0;
  double peak_flops = 0;
  std::string peak_source;
};

/// Returns the plan for people, and as JSON.
[[nodiscard]] std::string plan_page(const Plan& plan);
[[nodiscard]] std::string plan_json(const Plan& plan);

}  // namespace sheaf::cli
