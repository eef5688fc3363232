#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace sheaf::testing {

/// Says why hosts cannot be simulated here; nothing if they can.
[[nodiscard]] std::optional<std::string> why_no_hosts();

/// A program on a simulated host, whose output is kept in files.
class HostProgram {
 public:
  HostProgram(pid_t host, const std::string& command);
  ~HostProgram();
  HostProgram(const HostProgram&) = delete;
  HostProgram& operator=(const HostProgram&) = delete;

  /// Waits for its end; returns the exit code.
  int wait();
  [[nodiscard]] bool has_ended();
  [[nodiscard]] std::string out() const { return folder_.read("out"); }
  [[nodiscard]] std::string err() const { return folder_.read("err"); }

 private:
  TemporaryFolder folder_;
  pid_t pid_ = -1;
  int status_ = 0;
};

/// Machines on one network, each with a name, addresses and processes of its own: namespaces,
/// joined by a bridge. They end with this, and leave nothing behind.
class Hosts {
 public:
  explicit Hosts(int count);
  ~Hosts();
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;

  [[nodiscard]] static std::string name(int host) { return "sheafhost" + std::to_string(host); }
  [[nodiscard]] static std::string address(int host) {
    return "10.77.0." + std::to_string(host + 1);
  }
  /// Starts a command of bash on a host.
  [[nodiscard]] std::unique_ptr<HostProgram> start(int host, const std::string& command) const;
  /// Cuts the host's cable.
  void cut(int host) const;
  /// Lets no more through the host's cable than that.
  void slow_down(int host, const std::string& rate) const;

 private:
  void add_host(int host);

  /// The process that holds a host, and the first one on it.
  struct Holder {
    pid_t outer = -1;
    pid_t inner = -1;
  };
  std::vector<Holder> holders_;
};

}  // namespace sheaf::testing
