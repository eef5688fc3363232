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

/// Writes for people: a start-up page, the steps, evaluations, samples, a summary. What cannot be
/// written is dropped: a run does not end because its terminal has gone.
[[nodiscard]] std::unique_ptr<Sink> console_sink(std::ostream& out, const ConsoleOptions& options);

/// Writes `metrics.jsonl` into a folder: one JSON object per line, whole lines only, appended to
/// what is there. The member "event" is start, step, evaluation, sample or end; docs/metrics.md
/// lists the others. A number that JSON cannot hold is null, with its text beside it ("loss_text":
/// "nan"). Throws IoError with path and reason if it cannot write, now or later.
[[nodiscard]] std::unique_ptr<Sink> json_sink(const std::filesystem::path& folder);

/// Writes a TensorBoard event file, whole records only, into a folder. Throws IoError as above.
[[nodiscard]] std::unique_ptr<Sink> tensorboard_sink(const std::filesystem::path& folder);

}  // namespace sheaf::train
