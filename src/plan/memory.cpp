#include "sheaf/plan/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <deque>

#include "plan/blocks.h"
#include "plan/ends.h"
#include "plan/parameter_places.h"
#include "sheaf/base/error.h"
#include "sheaf/plan/units.h"

namespace sheaf::plan {
namespace {

void check(const Architecture& model, const Setting& setting) {
  const auto require = [](bool holds, const char* what, std::int64_t value) {
    if (!holds) throw UsageError(fmt::format("{}, got {}", what, value));
  };
  require(model.layers >= 1, "a model to plan for has at least 1 layer", model.layers);
  require(model.width >= 1, "its width must be at least 1", model.width);
  require(model.vocabulary >= 1, "its vocabulary must be at least 1", model.vocabulary);
  require(setting.shard >= 1, "a model is cut over at least 1 rank", setting.shard);
  require(setting.replicate >= 1, "there is at least 1 copy of a model", setting.replicate);
  require(setting.micro_batch >= 1, "a batch has at least 1 text", setting.micro_batch);
  require(setting.accumulation >= 1, "a step has at least 1 pass", setting.accumulation);
  require(setting.sequence <= model.context,
          "a text may have at most the model's context",
          setting.sequence);
}

bool rotates(const Architecture& model, std::int64_t block) {
  return model.no_rope_interval == 0 || (block + 1) % model.no_rope_interval != 0;
}

std::unique_ptr<Block> make_block(const Architecture& model, std::int64_t block) {
  const std::size_t first = first_of_block(model, block);
  return model.family == Family::gpt2 ? make_gpt2_block(first)
                                      : make_llama_block(first, rotates(model, block));
}

/// Tokens and targets of a rank's share, of this step and of those that the loader has ready; on a
/// GPU only this step's.
std::int64_t batch_bytes(const Pass& pass) {
  constexpr std::int64_t kBytesPerToken = 16;  // two int64
  const std::int64_t batches =
      1 + (pass.setting.device == Device::cpu ? pass.setting.batches_ahead : 0);
  return batches * kBytesPerToken * pass.rows() * pass.setting.accumulation;
}

/// Cosines and sines, which a model makes once, for as many positions as a power of two.
std::int64_t rotary_bytes(const Pass& pass) {
  if (pass.model.family == Family::gpt2) return 0;
  const auto rounded =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(pass.sequence())));
  return std::min(rounded, pass.model.context) * pass.model.head_size * 4;
}

void walk_pass(const Pass& pass) {
  pass.walk.enter("forward");
  pass.engine.enter_model();
  Held x = embed(pass);
  std::deque<std::unique_ptr<Block>> blocks;
  const auto layers = static_cast<int>(pass.model.layers);
  for (int i = 0; i < layers; ++i) {
    pass.engine.enter_forward(i);
    pass.walk.enter("forward", i);
    blocks.push_back(make_block(pass.model, i));
    x = blocks.back()->forward(pass, std::move(x));
    pass.engine.leave_forward(i);
  }
  auto [gradient, of_tokens] = loss_backward(pass, loss_forward(pass, std::move(x)));
  for (int i = layers - 1; i >= 0; --i) {
    pass.walk.enter("backward", i);
    pass.engine.enter_backward(i);
    gradient = blocks.back()->backward(pass, std::move(gradient));
    blocks.pop_back();
  }
  embed_backward(pass, std::move(gradient), std::move(of_tokens));
  pass.engine.end_pass(pass.exchanged);
}

/// Clipping looks at a part of the gradients at a time, in fp64.
void walk_clipping(const Pass& pass, std::int64_t largest_unit) {
  constexpr std::int64_t kChunk = std::int64_t{1} << 16;
  if (!pass.setting.clips || pass.setting.device == Device::gpu) return;
  pass.walk.enter("clipping");
  pass.temporary(8 * std::min(kChunk, largest_unit)).reset();
}

std::int64_t largest_of(const std::vector<Unit>& units) {
  std::int64_t largest = 0;
  for (const Unit& unit : units) largest = std::max(largest, unit.shard_size);
  return largest;
}

}  // namespace

memory::ByPurpose predict_states(const Architecture& model, const Setting& setting) {
  check(model, setting);
  memory::ByPurpose states;
  for (const Unit& unit : units_of(parameters_of(model), setting)) {
    states[Purpose::parameters].count += resting_parameters(unit, setting);
    states[Purpose::optimizer].count += resting_optimizer(unit, setting);
    if (setting.device == Device::gpu) continue;
    states[Purpose::gradients].count += resting_gradients(unit, setting);
  }
  return states;
}

Prediction predict_memory(const Architecture& model, const Setting& setting) {
  check(model, setting);
  const std::vector<Parameter> parameters = parameters_of(model);
  Walk walk(model.layers);
  EngineWalk engine(walk, parameters, setting);
  Pass pass{.walk = walk, .engine = engine, .model = model, .setting = setting};
  const Held batch = pass.temporary(batch_bytes(pass));
  const Held rotary = pass.temporary(rotary_bytes(pass));
  // Passes in the middle are all alike.
  const std::int64_t passes = std::min<std::int64_t>(setting.accumulation, 3);
  for (std::int64_t i = 0; i < passes; ++i) {
    pass.exchanged = i + 1 == passes || setting.exchanges_every_pass();
    walk_pass(pass);
  }
  walk_clipping(pass, largest_of(units_of(parameters, setting)));
  engine.end_step();
  return {.resting = predict_states(model, setting),
          .peak = {walk.peak().total},
          .moment = walk.peak().moment,
          .at_peak = walk.peak().purposes,
          .activations_by_block = walk.peak().activations,
          .highest = walk.highest()};
}

}  // namespace sheaf::plan
