#include "launch/signal_inbox.h"

#include <pthread.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <cstring>

#include "sheaf/base/error.h"

namespace sheaf::launch {
namespace {

bool is_ignored(int number) {
  struct sigaction action {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t wanted_signals() {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGPIPE);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    // A blocked signal arrives even where it is ignored: under nohup SIGHUP must not end the job.
    if (!is_ignored(number)) sigaddset(&wanted, number);
  }
  return wanted;
}

}  // namespace

SignalInbox::SignalInbox() {
  const sigset_t wanted = wanted_signals();
  inbox_ = FileDescriptor(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!inbox_.is_open()) throw IoError(std::string("signalfd failed: ") + std::strerror(errno));
  ::pthread_sigmask(SIG_BLOCK, &wanted, &previous_);
}

SignalInbox::~SignalInbox() {
  // A pending SIGPIPE would end the process as soon as the mask is back.
  for ([[maybe_unused]] const int number : take()) continue;
  ::pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

std::vector<int> SignalInbox::take() {
  std::vector<int> signals;
  signalfd_siginfo info{};
  while (::read(inbox_.get(), &info, sizeof(info)) == sizeof(info)) {
    const int number = static_cast<int>(info.ssi_signo);
    if (number != SIGPIPE) signals.push_back(number);
  }
  return signals;
}

}  // namespace sheaf::launch
