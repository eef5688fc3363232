#pragma once

#include <functional>
#include <string>

#include "cli/command.h"
#include "cli/option_set.h"
#include "sheaf/data/pack.h"

namespace sheaf::cli {

/// The arguments of commands that read documents.
struct InputArguments {
  data::InputOptions input;

  void declare(OptionSet& options);
};

/// How reading went.
struct Reading {
  Seconds elapsed{};
  /// The signal that ended it early; 0 for none.
  int signal = 0;
};

/// Runs `read` on the input with a progress line on the console, and ends it on SIGINT or SIGTERM.
[[nodiscard]] Reading read_documents(const data::InputOptions& input,
                                     Console& console,
                                     const std::function<void(const data::InputOptions&)>& read);

}  // namespace sheaf::cli
