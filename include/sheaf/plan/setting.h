#pragma once

#include <cstdint>
#include <string>

#include "sheaf/layout/buckets.h"

namespace sheaf::plan {

/// What is cut over the ranks: nothing; the optimizer's state; gradients too; parameters too.
enum class Stage { ddp, zero1, zero2, zero3 };

enum class Number { fp32, bf16, fp16 };

[[nodiscard]] constexpr std::int64_t bytes_of(Number number) {
  return number == Number::fp32 ? 4 : 2;
}

/// Layers keep other things on a CPU than on a GPU.
enum class Device { cpu, gpu };

/// How a model is trained, as far as memory and traffic depend on it.
struct Setting {
  Stage stage = Stage::zero3;
  /// One unit in place of buckets; not for zero3.
  bool flat = false;
  /// zero3: whether parameters are freed between forward and backward.
  bool reshard_after_forward = true;
  /// Ranks that one copy of the model is cut over, and copies.
  int shard = 1;
  int replicate = 1;
  /// Type of forward and backward, and of gradients on their way between ranks.
  Number compute = Number::fp32;
  Number reduce = Number::fp32;
  /// Texts that a rank computes at a time, and how often in a step.
  std::int64_t micro_batch = 1;
  std::int64_t accumulation = 1;
  /// Tokens of a text; 0: the model's context.
  std::int64_t sequence = 0;
  /// Numbers that the optimizer keeps for each parameter: 2 for Adam.
  int optimizer_states = 2;
  Number moments = Number::fp32;
  /// Whether the gradients' norm is measured before the step.
  bool clips = true;
  layout::BucketOptions buckets = {};
  /// zero3: whether the next unit is gathered while one computes.
  bool prefetch = true;
  /// zero2, zero3: whether every pass of an accumulated step is reduced, instead of whole gradients
  /// being kept.
  bool reduces_every_pass = false;
  Device device = Device::cpu;
  /// Whether layers are computed in one piece where they can be; see nn::Fused.
  bool fused = true;
  /// Batches that the loader has ready besides the one in use.
  int batches_ahead = 2;

  [[nodiscard]] bool cuts_state() const { return stage != Stage::ddp; }
  [[nodiscard]] bool cuts_gradients() const { return stage >= Stage::zero2; }
  [[nodiscard]] bool cuts_parameters() const { return stage == Stage::zero3; }
  /// Whether no pass keeps its gradients for a later one.
  [[nodiscard]] bool exchanges_every_pass() const {
    return accumulation == 1 || (reduces_every_pass && cuts_gradients());
  }
  /// Parts that a unit is cut into.
  [[nodiscard]] int num_shards() const { return cuts_state() ? shard : 1; }
};

/// Writes the strategy as configurations have it: ddp:flat, zero3, hybrid:zero2, SHARD_GRAD_OP.
[[nodiscard]] std::string strategy_name(const Setting& setting);

}  // namespace sheaf::plan
