#include "cli/plan/plan_page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/quoting.h"
#include "sheaf/base/table.h"
#include "train/figures.h"
#include "train/purposes_json.h"

namespace sheaf::cli {
namespace {

using Json = nlohmann::ordered_json;

bool fits(const plan::Candidate& candidate, const Plan& plan) {
  return candidate.memory.peak <= plan.usable;
}

/// Tells whether the search ended before it found a batch that does not fit.
bool is_open(const PlannedStrategy& strategy) { return strategy.largest_batch >= plan::kMostTexts; }

std::string largest_text(const PlannedStrategy& strategy) {
  return fmt::format("{}{}", strategy.largest_batch, is_open(strategy) ? " or more" : "");
}

std::string headline(const Plan& plan) {
  const PlanRequest& request = plan.request;
  std::string text = fmt::format(
      "{}: {} parameters, texts of {} tokens, {}\n{} with {} each, of which tensors may take {}\n",
      escaped(plan.model.name),
      train::grouped(plan.parameters),
      train::grouped(plan.sequence),
      enum_name(request.precision),
      train::count_text(request.devices, "device"),
      to_string(request.memory),
      to_string(plan.usable));
  if (request.accumulation > 1) text += fmt::format("{} passes per step\n", request.accumulation);
  if (plan.model.shape.attention_dropout > 0) {
    text += fmt::format("attention with dropout {} keeps all its weights; --dropout 0 has none\n",
                        plan.model.shape.attention_dropout);
  }
  if (!plan.model.note.empty()) text += escaped(plan.model.note) + "\n";
  return text;
}

std::string memory_text(const Plan& plan) {
  std::vector<std::string> header{"strategy", "largest batch"};
  for (const std::int64_t batch : plan.request.batch)
    header.push_back(fmt::format("batch {}", batch));
  Table table(header);
  for (const PlannedStrategy& strategy : plan.strategies) {
    std::vector<std::string> row{plan::strategy_name(strategy.setting), largest_text(strategy)};
    for (const plan::Candidate& candidate : strategy.candidates) {
      row.push_back(fmt::format(
          "{} {}", fits(candidate, plan) ? "fits" : "NO  ", to_string(candidate.memory.peak)));
    }
    table.add(row);
  }
  return "\npeak per device, by texts per device and pass\n" + table.str();
}

std::string purposes_text(const Plan& plan) {
  std::vector<std::string> header{"strategy"};
  for (const auto purpose : memory::all_purposes()) header.emplace_back(name(purpose));
  header.emplace_back("the peak is in");
  Table table(header);
  for (const PlannedStrategy& strategy : plan.strategies) {
    const plan::Prediction& memory = strategy.candidates.front().memory;
    std::vector<std::string> row{plan::strategy_name(strategy.setting)};
    for (const auto purpose : memory::all_purposes()) {
      row.push_back(to_string(memory.at_peak[purpose]));
    }
    row.push_back(memory.moment);
    table.add(row);
  }
  return fmt::format(
      "\nwhat the peak consists of, batch {}\n{}", plan.request.batch.front(), table.str());
}

/// Returns how often a strategy does that in a step, and with how many bytes.
std::string exchanges_text(const PlannedStrategy& strategy, plan::Collective collective) {
  std::int64_t calls = 0;
  Bytes bytes;
  for (const plan::Exchange& exchange : strategy.traffic) {
    if (exchange.collective != collective) continue;
    calls += exchange.calls;
    bytes.count += exchange.bytes.count;
  }
  return calls == 0 ? "-" : fmt::format("{} x, {}", calls, to_string(bytes));
}

std::string traffic_text(const Plan& plan) {
  Table table({"strategy", "a rank sends", "all-gather", "reduce-scatter", "all-reduce"});
  for (const PlannedStrategy& strategy : plan.strategies) {
    table.add({plan::strategy_name(strategy.setting),
               to_string(plan::sent_per_rank(strategy.traffic)),
               exchanges_text(strategy, plan::Collective::all_gather),
               exchanges_text(strategy, plan::Collective::reduce_scatter),
               exchanges_text(strategy, plan::Collective::all_reduce)});
  }
  return "\ntraffic per step\n" + table.str();
}

std::string recommendation_text(const Plan& plan) {
  const plan::Recommendation& chosen = plan.recommendation;
  if (!chosen.index) return fmt::format("\n{}\n", chosen.reason);
  return fmt::format("\nrecommended for batch {}: {}, {}\n",
                     plan.recommended_batch,
                     plan::strategy_name(plan.strategies[*chosen.index].setting),
                     chosen.reason);
}

std::string bill_text(const Plan& plan) {
  if (!plan.bill) return "";
  const PlanRequest& request = plan.request;
  std::string text =
      fmt::format("\n{:g} tokens take {} on {}: {} tokens/s, if {} of {} are reached ({})\n",
                  request.tokens,
                  to_string(plan.bill->time),
                  train::count_text(request.devices, "device"),
                  train::rate_text(plan.bill->tokens_per_second),
                  train::percent_text(request.mfu),
                  train::flops_text(plan.peak_flops),
                  escaped(plan.peak_source));
  if (request.price > 0) {
    text += fmt::format(
        "that costs {:.2f}, at {:g} per device and hour\n", plan.bill->cost, request.price);
  }
  return text;
}

Json json_of(const PlannedStrategy& strategy, const Plan& plan) {
  Json batches = Json::array();
  for (std::size_t i = 0; i < strategy.candidates.size(); ++i) {
    const plan::Candidate& candidate = strategy.candidates[i];
    batches.push_back({{"batch", plan.request.batch[i]},
                       {"fits", fits(candidate, plan)},
                       {"peak", candidate.memory.peak.count},
                       {"moment", candidate.memory.moment},
                       {"at_peak", train::purposes_json(candidate.memory.at_peak)}});
  }
  Json traffic = Json::array();
  for (const plan::Exchange& exchange : strategy.traffic) {
    traffic.push_back({{"collective", plan::name(exchange.collective)},
                       {"calls", exchange.calls},
                       {"bytes", exchange.bytes.count},
                       {"ranks", exchange.ranks}});
  }
  return {{"strategy", plan::strategy_name(strategy.setting)},
          {"shard", strategy.setting.shard},
          {"replicate", strategy.setting.replicate},
          {"largest_batch", strategy.largest_batch},
          {"largest_batch_or_more", is_open(strategy)},
          {"resting", train::purposes_json(strategy.candidates.front().memory.resting)},
          {"batches", batches},
          {"traffic", traffic},
          {"sent_per_rank", plan::sent_per_rank(strategy.traffic).count}};
}

}  // namespace

std::string plan_page(const Plan& plan) {
  return headline(plan) + memory_text(plan) + purposes_text(plan) + traffic_text(plan) +
         recommendation_text(plan) + bill_text(plan);
}

std::string plan_json(const Plan& plan) {
  Json strategies = Json::array();
  for (const PlannedStrategy& strategy : plan.strategies) {
    strategies.push_back(json_of(strategy, plan));
  }
  const auto& index = plan.recommendation.index;
  Json page = {
      {"model", plan.model.name},
      {"note", plan.model.note},
      {"parameters", plan.parameters},
      {"devices", plan.request.devices},
      {"memory", plan.request.memory.count},
      {"usable", plan.usable.count},
      {"sequence", plan.sequence},
      {"precision", enum_name(plan.request.precision)},
      {"flops_per_token", plan.flops_per_token},
      {"strategies", strategies},
      {"recommendation",
       {{"batch", plan.recommended_batch},
        {"strategy", index ? Json(plan::strategy_name(plan.strategies[*index].setting)) : Json()},
        {"reason", plan.recommendation.reason}}}};
  if (plan.bill) {
    page["bill"] = {{"tokens", plan.request.tokens},
                    {"seconds", plan.bill->time.count()},
                    {"tokens_per_second", plan.bill->tokens_per_second},
                    {"mfu", plan.request.mfu},
                    {"peak_flops", plan.peak_flops},
                    {"cost", plan.bill->cost}};
  }
  return page.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sheaf::cli
