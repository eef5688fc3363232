#pragma once

#include <filesystem>
#include <iosfwd>
#include <memory>

#include "sheaf/train/sink.h"

namespace sheaf::train {

struct ConsoleOptions {
  /// One line that is rewritten, for terminals; otherwise a line every `every` steps.
  bool live = false;
  /// 0: so that a run has about twenty lines.
  std::int64_t every = 0;
  /// Columns of the terminal.
  int columns = 80;
};

/// Writes for people: a start-up page, the steps, evaluations, samples, a summary.
[[nodiscard]] std::unique_ptr<Sink> console_sink(std::ostream& out, const ConsoleOptions& options);

/// Writes `metrics.jsonl` into a folder: one JSON object per step and per evaluation, flushed after
/// each, appended to what is there.
[[nodiscard]] std::unique_ptr<Sink> json_sink(const std::filesystem::path& folder);

/// Writes a TensorBoard event file into a folder.
[[nodiscard]] std::unique_ptr<Sink> tensorboard_sink(const std::filesystem::path& folder);

}  // namespace sheaf::train
