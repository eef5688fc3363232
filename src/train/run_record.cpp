#include "train/run_record.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "sheaf/base/error.h"
#include "sheaf/checkpoint/damaged.h"

namespace sheaf::train {
namespace {

using Json = nlohmann::ordered_json;
using Parsed = nlohmann::json;

std::string tokenizer_of(const Assembly& parts) {
  return parts.data.tokenizer ? fmt::format("{:016x}", parts.data.tokenizer->hash()) : "none";
}

Parsed data_of(const Assembly& parts) {
  return {{"samples", parts.data.training->size()}, {"tokenizer", tokenizer_of(parts)}};
}

/// Nearly always every slot has stepped as often as the optimizer; only others are listed.
Json counts_of(const optim::Optimizer& optimizer) {
  const optim::StepCounts& counts = optimizer.step_counts();
  const auto& segments = optimizer.slots()->segments();
  Json others = Json::object();
  for (std::size_t s = 0; s < segments.size(); ++s) {
    for (std::size_t k = 0; k < segments[s].slots.size(); ++k) {
      const std::int64_t count = counts.slots[s][k];
      if (count != counts.steps) others[segments[s].slots[k].name] = count;
    }
  }
  return {{"states", optimizer.state_names()}, {"steps", counts.steps}, {"others", others}};
}

void apply_counts(const Parsed& json, optim::Optimizer& optimizer) {
  if (json.at("states").get<std::vector<std::string>>() != optimizer.state_names()) {
    throw UsageError(fmt::format(
        "it was saved with another optimizer, whose states are {}: take the same optimizer.kind",
        json.at("states").dump()));
  }
  optim::StepCounts counts = optimizer.step_counts();
  counts.steps = json.at("steps").get<std::int64_t>();
  const auto& segments = optimizer.slots()->segments();
  for (std::size_t s = 0; s < segments.size(); ++s) {
    for (std::size_t k = 0; k < segments[s].slots.size(); ++k) {
      counts.slots[s][k] = json.at("others").value(segments[s].slots[k].name, counts.steps);
    }
  }
  optimizer.set_step_counts(std::move(counts));
}

Json scaler_of(const TrainingState& state) {
  if (!state.scaler) return nullptr;
  return {{"scale", state.scaler->current_scale()}, {"good_steps", state.scaler->good_steps()}};
}

Json options_of(RunOptions options) {
  Json json = Json::object();
  for (const Field& field : fields_of(options)) json[field.path()] = field.literal();
  return json;
}

/// Whether a field has a say in what the run computes.
bool changes_numbers(std::string_view path) {
  constexpr std::array<std::string_view, 7> kSections{
      "model.", "data.", "precision.", "optimizer.", "schedule.", "batch.", "train."};
  for (const std::string_view section : kSections) {
    if (path.starts_with(section)) return true;
  }
  return false;
}

void apply(const Parsed& json, const Assembly& parts, TrainingState& state) {
  if (json.at("data") != data_of(parts)) {
    throw UsageError(fmt::format("it was saved with other data, {}, and this run has {}",
                                 json.at("data").dump(),
                                 data_of(parts).dump()));
  }
  apply_counts(json.at("optimizer"), *state.optimizer);
  const Parsed& scaler = json.at("scaler");
  if (state.scaler && !scaler.is_null()) {
    state.scaler->resume(scaler.at("scale").get<double>(),
                         scaler.at("good_steps").get<std::int64_t>());
  }
  state.step = json.at("step").get<std::int64_t>();
  state.items = json.at("items").get<std::int64_t>();
  state.position = {.epoch = json.at("position").at("epoch").get<std::int64_t>(),
                    .done = json.at("position").at("done").get<std::int64_t>()};
}

}  // namespace

std::string run_record(const RunOptions& options,
                       const Assembly& parts,
                       const TrainingState& state) {
  const Json record = {
      {"step", state.step},
      {"items", state.items},
      {"item_name", parts.shape.is_language_model() ? "tokens" : "images"},
      {"position", {{"epoch", state.position.epoch}, {"done", state.position.done}}},
      {"seed", options.train.seed},
      {"strategy", options.shard.stage},
      {"data", data_of(parts)},
      {"optimizer", counts_of(*state.optimizer)},
      {"scaler", scaler_of(state)},
      {"evaluation_loss", state.evaluation_loss ? Json(*state.evaluation_loss) : Json()},
      {"options", options_of(options)}};
  // Paths need not be UTF-8.
  return record.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void apply_record(const std::string& record, const Assembly& parts, TrainingState& state) {
  try {
    apply(Parsed::parse(record), parts, state);
  } catch (const Parsed::exception&) {
    throw checkpoint::Damaged("the manifest does not say where the run stopped");
  }
}

std::vector<std::string> changed_options(const std::string& record, const RunOptions& options) {
  std::vector<std::string> changes;
  const Parsed before = Parsed::parse(record).value("options", Parsed::object());
  RunOptions copy = options;
  for (const Field& field : fields_of(copy)) {
    const std::string was = before.value(field.path(), field.literal());
    if (was == field.literal() || !changes_numbers(field.path())) continue;
    changes.push_back(fmt::format("{} = {} (was {})", field.path(), field.literal(), was));
  }
  return changes;
}

std::optional<double> saved_evaluation(const std::string& record) {
  const Parsed json = Parsed::parse(record, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("evaluation_loss")) return std::nullopt;
  const Parsed& loss = json["evaluation_loss"];
  return loss.is_number() ? std::optional(loss.get<double>()) : std::nullopt;
}

}  // namespace sheaf::train
