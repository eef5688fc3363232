#include "sheaf/train/interruption.h"

#include <atomic>
#include <mutex>

namespace sheaf::train {
namespace {

// A signal handler sees nothing but variables like these.
std::atomic<int> first_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not wait for a lock");

std::mutex mutex;
int num_watches = 0;
std::array<struct sigaction, kStopSignals.size()> previous;

void handle(int number) {
  int none = 0;
  if (first_signal.compare_exchange_strong(none, number)) return;
  // Schedulers repeat theirs, and launchers pass on what ranks have got already.
  if (number != SIGINT) return;
  // It is blocked while it is handled, so it ends the process when this function returns.
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  ::sigaction(number, &plain, nullptr);
  ::raise(number);
}

void install(std::size_t i) {
  ::sigaction(kStopSignals[i], nullptr, &previous[i]);
  if (previous[i].sa_handler == SIG_IGN) return;
  struct sigaction watching {};
  watching.sa_handler = handle;
  watching.sa_flags = SA_RESTART;
  sigemptyset(&watching.sa_mask);
  ::sigaction(kStopSignals[i], &watching, nullptr);
}

}  // namespace

InterruptionWatch::InterruptionWatch() {
  const std::lock_guard lock(mutex);
  if (num_watches++ > 0) return;
  first_signal = 0;
  for (std::size_t i = 0; i < kStopSignals.size(); ++i) install(i);
}

InterruptionWatch::~InterruptionWatch() {
  const std::lock_guard lock(mutex);
  if (--num_watches > 0) return;
  for (std::size_t i = 0; i < kStopSignals.size(); ++i)
    ::sigaction(kStopSignals[i], &previous[i], nullptr);
}

std::optional<int> InterruptionWatch::requested() const {
  const int number = first_signal;
  return number == 0 ? std::nullopt : std::optional(number);
}

void InterruptionWatch::ignore_from_now_on() const {
  const std::lock_guard lock(mutex);
  for (std::size_t i = 0; i < kStopSignals.size(); ++i) {
    // Who presses Ctrl-C again does not want to wait.
    if (kStopSignals[i] == SIGINT) continue;
    struct sigaction ignoring {};
    ignoring.sa_handler = SIG_IGN;
    sigemptyset(&ignoring.sa_mask);
    ::sigaction(kStopSignals[i], &ignoring, nullptr);
    previous[i] = ignoring;
  }
}

}  // namespace sheaf::train
