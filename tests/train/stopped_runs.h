#pragma once

#include <csignal>
#include <memory>
#include <string>

#include "train/small_runs.h"

namespace sheaf::train {

/// Dropout and accumulation on, and an epoch that ends on the way.
inline RunOptions long_run(const std::string& folder) {
  RunOptions options = small_run();
  options.model.dropout = 0.1;
  options.model.attention_dropout = 0.1;
  options.data.size = 900;
  options.batch.global = 12;
  options.train.steps = 7;
  options.train.evaluate = false;
  options.schedule.kind = optim::ScheduleKind::cosine;
  options.schedule.warmup_steps = 2;
  options.checkpoint.dir = folder;
  return options;
}

/// Runs until `stop_after` steps of this run are done; -1: to the end.
inline std::shared_ptr<Recorder> run_until(const RunOptions& options,
                                           int ranks,
                                           int stop_after = -1) {
  auto recorder = std::make_shared<Recorder>();
  comm::run_ranks(ranks, [&](const comm::Group& world) {
    int asked = 0;
    Hooks hooks{.sinks = {recorder}};
    hooks.stop_signal = [&] { return ++asked == stop_after ? SIGTERM : 0; };
    static_cast<void>(train::run(options, world, hooks));
  });
  return recorder;
}

}  // namespace sheaf::train
