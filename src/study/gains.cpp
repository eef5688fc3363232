#include "study/gains.h"

#include <fmt/format.h>

#include <utility>

#include "train/model_source.h"

namespace sheaf::study {
namespace {

// Dropout this rare changes no number, but has all attention weights made one by one.
constexpr double kRare = 1e-9;
constexpr std::int64_t kPasses = 4;

void take_plain_attention(train::RunOptions& run) {
  run.model.attention = nn::AttentionKernel::plain;
  if (train::shape_of(run).family == models::Family::gpt2) run.model.attention_dropout = kRare;
}

/// Has layers computed operator by operator. Returns false for runs in which that changes nothing:
/// the model has no such layers, or they are set so already.
bool take_plain_layers(train::RunOptions& run) {
  if (!train::shape_of(run).is_language_model()) return false;
  return std::exchange(run.model.fused, nn::Fused::none()) != nn::Fused::none();
}

}  // namespace

std::vector<GainStep> gain_steps(const train::RunOptions& run, int ranks, std::int64_t batch) {
  train::RunOptions now = run;
  now.batch = {.global = ranks, .micro = 1};
  take_plain_attention(now);
  const bool can_fuse = take_plain_layers(now);
  // The limit says where the sweep ends; what nothing has been done for yet may need more.
  now.memory.limit = {};
  now.shard.overlap = false;
  now.shard.prefetch = false;
  std::vector<GainStep> steps;
  steps.push_back(
      {.name = "start",
       .meaning = can_fuse ? "micro-batch 1, plain attention and layers, exchanges by themselves"
                           : "micro-batch 1, plain attention, exchanges by themselves",
       .options = now});
  now.batch = {.global = batch * ranks, .micro = batch};
  steps.push_back(
      {.name = "batch", .meaning = fmt::format("micro-batch {}", batch), .options = now});
  now.model.attention = run.model.attention;
  now.model.attention_dropout = run.model.attention_dropout;
  steps.push_back({.name = "attention kernel",
                   .meaning = "fused attention, no table of weights",
                   .options = now});
  if (can_fuse) {
    now.model.fused = run.model.fused;
    steps.push_back({.name = "fused layers",
                     .meaning = "several operators in one pass over memory",
                     .options = now});
  }
  if (ranks > 1) {
    now.shard.overlap = true;
    now.shard.prefetch = run.shard.prefetch;
    steps.push_back({.name = "overlap", .meaning = "exchanges beside computation", .options = now});
  }
  now.batch.global = batch * ranks * kPasses;
  steps.push_back({.name = "accumulation",
                   .meaning = fmt::format("{} passes per exchange", kPasses),
                   .options = now});
  return steps;
}

}  // namespace sheaf::study
