#pragma once

#include <string>

#include "launch/council.h"
#include "launch/rank_output.h"
#include "launch/signal_inbox.h"

namespace sheaf::launch {

/// What an intermission works with; all of it must outlive it.
struct IntermissionParts {
  SignalInbox& inbox;
  Terminal& terminal;
  Council& council;
};

/// Waits, while no rank runs, for what follows. Where that is the end, also until the last output
/// is written and the others know; a job that failed waits no longer than 10 s for that. A signal
/// ends the job, SIGTERM and SIGUSR1 with kRequeueCode.
[[nodiscard]] Next wait_for_next(const IntermissionParts& parts);

}  // namespace sheaf::launch
