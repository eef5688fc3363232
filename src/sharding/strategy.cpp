#include "sheaf/sharding/strategy.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "sheaf/base/error.h"

namespace sheaf::sharding {
namespace {

constexpr std::string_view kHybrid = "hybrid:";

constexpr std::array kStages{std::pair{std::string_view("ddp"), Stage::ddp},
                             std::pair{std::string_view("zero1"), Stage::zero1},
                             std::pair{std::string_view("zero2"), Stage::zero2},
                             std::pair{std::string_view("zero3"), Stage::zero3}};

constexpr std::array kPolicies{std::pair{std::string_view("flat"), Policy::flat},
                               std::pair{std::string_view("bucketed"), Policy::bucketed},
                               std::pair{std::string_view("wrap"), Policy::wrap}};

/// What FSDP calls the same things. SHARD_GRAD_OP keeps parameters from forward to backward, which
/// is zero3 without resharding.
constexpr std::array kAliases{
    std::pair{std::string_view("FULL_SHARD"), std::string_view("zero3")},
    std::pair{std::string_view("HYBRID_SHARD"), std::string_view("hybrid:zero3")},
    std::pair{std::string_view("NO_SHARD"), std::string_view("ddp")}};

template <class Table>
auto find(const Table& table, std::string_view name) -> std::optional<decltype(table[0].second)> {
  for (const auto& [known, value] : table) {
    if (known == name) return value;
  }
  return std::nullopt;
}

[[noreturn]] void refuse(std::string_view text) {
  throw UsageError(
      fmt::format("a strategy is [hybrid:]stage[:policy] with stage ddp, zero1, zero2 or zero3 and "
                  "policy flat, bucketed (not zero3) or wrap (zero3), or one of FSDP's names, got "
                  "\"{}\"",
                  text));
}

}  // namespace

Strategy parse_strategy(std::string_view text) {
  if (text == "SHARD_GRAD_OP") return {.reshard_after_forward = false};
  if (text == "_HYBRID_SHARD_ZERO2") return {.reshard_after_forward = false, .hybrid = true};
  std::string_view rest = find(kAliases, text).value_or(text);
  Strategy strategy;
  strategy.hybrid = rest.starts_with(kHybrid);
  if (strategy.hybrid) rest.remove_prefix(kHybrid.size());
  const std::size_t colon = rest.find(':');
  const auto stage = find(kStages, rest.substr(0, colon));
  if (!stage) refuse(text);
  strategy.stage = *stage;
  if (colon == std::string_view::npos) return strategy;
  const auto policy = find(kPolicies, rest.substr(colon + 1));
  const bool fits = policy && (strategy.stage == Stage::zero3 ? *policy != Policy::bucketed
                                                              : *policy != Policy::wrap);
  if (!fits) refuse(text);
  strategy.policy = *policy;
  return strategy;
}

std::string to_string(const Strategy& strategy) {
  if (strategy.stage == Stage::zero3 && !strategy.reshard_after_forward) {
    return strategy.hybrid ? "_HYBRID_SHARD_ZERO2" : "SHARD_GRAD_OP";
  }
  std::string text(strategy.hybrid ? kHybrid : "");
  for (const auto& [name, stage] : kStages) {
    if (stage == strategy.stage) text += name;
  }
  for (const auto& [name, policy] : kPolicies) {
    if (policy == strategy.policy) text += fmt::format(":{}", name);
  }
  return text;
}

}  // namespace sheaf::sharding
