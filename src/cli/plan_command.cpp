#include "cli/plan_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "cli/option_set.h"
#include "cli/plan/plan_page.h"
#include "sheaf/base/error.h"
#include "sheaf/models/cost.h"
#include "sheaf/train/peak_flops.h"
#include "sheaf/train/prediction.h"
#include "train/arithmetic_of.h"

namespace sheaf::cli {
namespace {

plan::Setting base_of(const PlanRequest& request, std::int64_t sequence) {
  return {.compute = train::number_of(request.precision),
          .reduce = train::number_of(request.reduce),
          .accumulation = request.accumulation,
          .sequence = sequence,
          .device = request.device == PlannedDevice::gpu ? plan::Device::gpu : plan::Device::cpu};
}

PlannedStrategy look_at(const plan::Architecture& model,
                        const plan::Setting& setting,
                        const Plan& plan) {
  PlannedStrategy strategy{.setting = setting,
                           .largest_batch = plan::largest_batch(model, setting, plan.usable),
                           .traffic = plan::traffic_of(model, setting),
                           .candidates = {}};
  for (const std::int64_t batch : plan.request.batch) {
    plan::Setting with = setting;
    with.micro_batch = batch;
    strategy.candidates.push_back(plan::consider(model, with));
  }
  return strategy;
}

/// For the largest batch that some strategy can take; the first if none can take any.
void add_recommendation(Plan& plan) {
  std::size_t chosen = 0;
  for (std::size_t b = 0; b < plan.request.batch.size(); ++b) {
    const bool some = std::ranges::any_of(plan.strategies, [&](const auto& strategy) {
      return strategy.candidates[b].memory.peak <= plan.usable;
    });
    if (some && plan.request.batch[b] >= plan.request.batch[chosen]) chosen = b;
  }
  std::vector<plan::Candidate> candidates;
  for (const auto& strategy : plan.strategies) candidates.push_back(strategy.candidates[chosen]);
  plan.recommended_batch = plan.request.batch[chosen];
  plan.recommendation = plan::recommend(candidates, plan.usable);
}

void add_bill(Plan& plan) {
  const PlanRequest& request = plan.request;
  if (request.tokens <= 0) return;
  if (request.flops <= 0 && request.device_kind.empty()) {
    throw UsageError(
        "hours need the speed of a device: give --device-kind \"H100 HBM3\" or --flops 989e12");
  }
  train::PeakFlops peak{.flops = request.flops, .source = "as given"};
  if (request.flops <= 0) {
    peak = train::gpu_peak(request.device_kind, train::arithmetic_of(request.precision));
    if (peak.flops <= 0) {
      throw UsageError(fmt::format("{}: give its FLOP/s by --flops", peak.source));
    }
  }
  plan.peak_flops = peak.flops;
  plan.peak_source = peak.source;
  plan.bill = plan::bill_for({.tokens = request.tokens,
                              .flops_per_token = plan.flops_per_token,
                              .devices = request.devices,
                              .peak_flops = peak.flops,
                              .mfu = request.mfu,
                              .price_per_hour = request.price});
}

Plan make_plan(const PlanRequest& request) {
  Plan plan{.request = request, .model = read_model(request.model)};
  models::Shape& shape = plan.model.shape;
  if (request.sequence > shape.context) {
    throw UsageError(fmt::format("--sequence may be at most the model's context of {}, got {}",
                                 shape.context,
                                 request.sequence));
  }
  if (request.dropout >= 0) shape.dropout = shape.attention_dropout = request.dropout;
  const plan::Architecture model = train::architecture_of(shape).value();
  plan.sequence = request.sequence > 0 ? request.sequence : shape.context;
  plan.parameters = plan::num_parameters(model);
  plan.usable = {
      static_cast<std::int64_t>((1 - request.reserve) * static_cast<double>(request.memory.count))};
  models::Shape shortened = shape;
  shortened.context = plan.sequence;
  plan.flops_per_token = models::cost_of(shortened).rule_flops;
  const plan::Setting base = base_of(request, plan.sequence);
  for (const auto& setting : plan::strategies_for(base, request.devices, request.node)) {
    plan.strategies.push_back(look_at(model, setting, plan));
  }
  add_recommendation(plan);
  add_bill(plan);
  return plan;
}

}  // namespace

void PlanCommand::declare(OptionSet& options) {
  PlanRequest& r = request_;
  options.value("model", r.model, "preset, config.json of Hugging Face, or folder with one");
  options.value("devices", r.devices, "number of devices", between(1, 1 << 20));
  options.value("memory", r.memory, "memory of one device", at_least(1));
  options.value("reserve", r.reserve, "part of it that tensors do not get", between(0.0, 0.9));
  options.value("batch", r.batch, "texts per device and pass to look at", between(1, 1 << 20));
  options.value("accumulation", r.accumulation, "passes per step", between(1, 1 << 20));
  options.value("sequence", r.sequence, "tokens of a text; 0: the model's context", at_least(0));
  options.value("dropout", r.dropout, "dropout; -1: the model's own", between(-1.0, 0.999));
  options.value("precision", r.precision, "type of forward and backward");
  options.value("reduce", r.reduce, "type of gradients on their way");
  options.value("device", r.device, "layers keep other things on a cpu than on a gpu");
  options.value("node", r.node, "devices with fast links between them", at_least(1));
  options.value("tokens", r.tokens, "tokens to train on, for hours and cost", at_least(0.0));
  options.value("price", r.price, "price of one device for an hour", at_least(0.0));
  options.value("mfu", r.mfu, "part of the peak that training reaches", between(0.001, 1.0));
  options.value("flops", r.flops, "peak FLOP/s of one device", at_least(0.0));
  options.value("device-kind", r.device_kind, "name of the GPU, to look its peak up");
  options.flag("json", json_, "print JSON instead of a page");
}

int PlanCommand::run(Console& console) {
  if (request_.model.empty()) throw UsageError("say which model: --model gpt2-774m, for example");
  if (request_.batch.empty()) throw UsageError("--batch needs at least one number");
  const Plan plan = make_plan(request_);
  console.out << (json_ ? plan_json(plan) : plan_page(plan));
  return 0;
}

}  // namespace sheaf::cli
