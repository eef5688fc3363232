#include "cli/data/input_arguments.h"

#include <unistd.h>

#include <ostream>

#include "cli/data/progress_line.h"
#include "sheaf/base/error.h"
#include "sheaf/train/interruption.h"

namespace sheaf::cli {

void InputArguments::declare(OptionSet& options) {
  options.positionals(
      "input", input.paths, "text or .jsonl files, each of them plain, .gz or .zst");
  options.value("separator", input.separator, "text between documents; empty: a file is one");
  options.value("field", input.field, "member of a .jsonl line that is the document");
  options.value("threads", input.threads, "threads that work; 0: one per core", between(0, 1024));
}

Reading read_documents(const data::InputOptions& input,
                       Console& console,
                       const std::function<void(const data::InputOptions&)>& read) {
  const train::InterruptionWatch watch;
  ProgressLine line(console.err, isatty(STDERR_FILENO) == 1);
  data::InputOptions watched = input;
  watched.progress = [&](const data::ReadProgress& progress) { line.show(progress); };
  watched.should_stop = [&] { return watch.requested().has_value(); };
  try {
    read(watched);
  } catch (const Error&) {
    if (!watch.requested()) throw;
    return {.elapsed = line.elapsed(), .signal = *watch.requested()};
  }
  return {.elapsed = line.elapsed()};
}

}  // namespace sheaf::cli
