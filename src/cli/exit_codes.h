#pragma once

#include <csignal>

#include "sheaf/launch/launcher.h"

namespace sheaf::cli {

/// Returns what shells give to programs that a signal ended: 128 + n.
constexpr int exit_code_of_signal(int signal) { return 128 + signal; }

/// Returns what a run exits with that a signal has asked to end, and that did so by itself. Who
/// sent SIGTERM or SIGUSR1 is a scheduler, as a rule, and may start it again; Ctrl-C means the end.
constexpr int exit_code_of_stop(int signal) {
  return signal == SIGINT ? exit_code_of_signal(signal) : launch::kRequeueCode;
}

}  // namespace sheaf::cli
