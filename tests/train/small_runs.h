#pragma once

#include <memory>

#include "sheaf/comm/run_ranks.h"
#include "sheaf/train/trainer.h"
#include "train/recorder.h"

namespace sheaf::train {

/// A run of a few seconds at most: a GPT of two layers on generated stories.
inline RunOptions small_run() {
  RunOptions options;
  options.model.preset = "gpt2-tiny";
  options.model.layers = 2;
  options.model.width = 32;
  options.model.heads = 2;
  options.model.context = 16;
  options.data.source = data::Source::stories;
  options.data.size = 4000;
  options.optimizer.learning_rate = 1e-3;
  options.batch.global = 8;
  options.train.steps = 6;
  options.train.seed = 7;
  options.train.sample_tokens = 0;
  return options;
}

/// Trains with ranks that are threads and returns what rank 0 was told.
inline std::shared_ptr<Recorder> record_run(const RunOptions& options, int ranks) {
  auto recorder = std::make_shared<Recorder>();
  Hooks hooks;
  hooks.sinks.push_back(recorder);
  comm::run_ranks(ranks, [&](const comm::Group& world) {
    static_cast<void>(train::run(options, world, hooks));
  });
  return recorder;
}

}  // namespace sheaf::train
