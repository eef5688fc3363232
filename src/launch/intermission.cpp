#include "launch/intermission.h"

#include <poll.h>

#include <chrono>
#include <optional>
#include <vector>

#include "base/signal_name.h"
#include "launch/poll_timeout.h"
#include "sheaf/base/log.h"
#include "sheaf/launch/launcher.h"

namespace sheaf::launch {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// How long a job that failed waits for other nodes, and for whoever reads its last output.
constexpr auto kFailedLimit = 10s;
constexpr auto kLooks = 250ms;

// Waits until something happens, or a moment; returns the signal that came, or 0.
int pause(const IntermissionParts& parts) {
  std::vector<pollfd> entries{{.fd = parts.inbox.fd(), .events = POLLIN, .revents = 0}};
  parts.council.add_to(entries);
  parts.terminal.add_to(entries);
  ::poll(entries.data(), entries.size(), poll_timeout_ms(kLooks));
  parts.terminal.out.flush();
  parts.terminal.err.flush();
  int stop = 0;
  for (const int signal : parts.inbox.take()) {
    // There is no rank that these two could mean.
    if (signal != SIGUSR2 && stop == 0) stop = signal;
  }
  return stop;
}

// Whoever sends SIGTERM or SIGUSR1 is a scheduler, as a rule, which may start the job again: what
// it has saved is there. The other signals mean its end.
int code_of_stop(int signal) {
  return signal == SIGTERM || signal == SIGUSR1 ? kRequeueCode : 128 + signal;
}

// Returns the verdict as soon as the last output is written and the others know it.
Next end_with(const Next& verdict, const IntermissionParts& parts) {
  const auto limit = Clock::now() + kFailedLimit;
  while (!parts.terminal.is_empty() || !parts.council.is_settled()) {
    if (pause(parts) != 0) break;
    if (verdict.verdict.code != 0 && Clock::now() >= limit) {
      log::warning("launch", "goes without waiting for who has not heard of the end");
      break;
    }
  }
  return verdict;
}

}  // namespace

Next wait_for_next(const IntermissionParts& parts) {
  while (true) {
    parts.council.look();
    if (const auto next = parts.council.next()) {
      return next->roster ? *next : end_with(*next, parts);
    }
    if (const int signal = pause(parts); signal != 0) {
      parts.council.leave(
          {.code = code_of_stop(signal),
           .sentence = "a launcher without ranks was ended by " + signal_name(signal)});
    }
  }
}

}  // namespace sheaf::launch
