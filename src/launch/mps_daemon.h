#pragma once

#include <string>
#include <vector>

#include "launch/environment.h"
#include "launch/file_descriptor.h"
#include "sheaf/base/units.h"

namespace sheaf::launch {

struct MpsDaemonOptions {
  /// The file of nvidia-cuda-mps-control.
  std::string program{};
  /// Where the daemon's folder is made; empty, or too deep for its sockets: a temporary folder.
  std::string run_dir{};
  /// How long it may take to start, and to end.
  Seconds patience{10};
};

/// A control daemon of NVIDIA's MPS that serves nobody but those who get variables(). It ends with
/// this object, and also when this process is killed.
///
/// Note [Guardian]: the daemon puts itself into the background, so nothing ends it with the process
/// that started it. A shell in a session of its own starts it, waits until its input, a pipe of
/// which only this process has the other end, comes to an end for whatever reason, and tells it to
/// quit.
class MpsDaemon {
 public:
  /// Throws IoError that says why there is none.
  explicit MpsDaemon(const MpsDaemonOptions& options);
  ~MpsDaemon();
  MpsDaemon(const MpsDaemon&) = delete;
  MpsDaemon& operator=(const MpsDaemon&) = delete;

  /// Returns what programs need in their environment to be served.
  [[nodiscard]] const std::vector<Variable>& variables() const { return variables_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  [[nodiscard]] bool ended_in(Seconds time);

  Seconds patience_;
  std::string folder_;
  std::vector<Variable> variables_;
  int guardian_ = -1;
  /// Closed: the guardian ends the daemon.
  FileDescriptor life_;
};

}  // namespace sheaf::launch
