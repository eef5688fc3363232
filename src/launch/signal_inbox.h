#pragma once

#include <csignal>
#include <string>
#include <vector>

#include "launch/file_descriptor.h"

namespace sheaf::launch {

/// Takes SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 out of a descriptor while it lives, and turns
/// writing to a closed pipe into an error. What was ignored at the start (nohup) stays ignored.
/// Threads started meanwhile inherit the mask and so leave the signals to the inbox.
class SignalInbox {
 public:
  SignalInbox();
  ~SignalInbox();
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  /// Readable when a signal has arrived.
  [[nodiscard]] int fd() const { return inbox_.get(); }
  /// Returns the signals that have arrived since the last call. Does not block.
  [[nodiscard]] std::vector<int> take();
  /// The mask from before, which children need.
  [[nodiscard]] const sigset_t& previous_mask() const { return previous_; }

 private:
  sigset_t previous_;
  FileDescriptor inbox_;
};

}  // namespace sheaf::launch
