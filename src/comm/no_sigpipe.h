#pragma once

#include <csignal>

namespace sheaf::comm {

/// While it lives, a write to a peer that is gone gives this thread an error instead of SIGPIPE,
/// which would end the process. Threads that are started meanwhile stay so. Gloo needs it: it
/// writes to sockets as if they were files.
class NoSigpipe {
 public:
  NoSigpipe();
  ~NoSigpipe();
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  sigset_t before_{};
  /// Somebody else's, which stays.
  bool was_pending_ = false;
};

}  // namespace sheaf::comm
