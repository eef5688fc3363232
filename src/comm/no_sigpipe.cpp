#include "no_sigpipe.h"

#include <ctime>

namespace sheaf::comm {
namespace {

sigset_t only_sigpipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  return set;
}

bool is_pending() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGPIPE) == 1;
}

}  // namespace

NoSigpipe::NoSigpipe() : was_pending_(is_pending()) {
  const sigset_t set = only_sigpipe();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
}

NoSigpipe::~NoSigpipe() {
  if (!was_pending_) {
    const sigset_t set = only_sigpipe();
    constexpr std::timespec kNow{};
    sigtimedwait(&set, nullptr, &kNow);
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace sheaf::comm
