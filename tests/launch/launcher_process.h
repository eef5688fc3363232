#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "sheaf/launch/launcher.h"

namespace sheaf::launch {

/// A new folder, removed with what is in it at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  void touch(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] std::string read(const std::string& name) const;

 private:
  std::filesystem::path path_;
};

/// Looks again and again until `condition` holds; returns false after a minute.
[[nodiscard]] bool eventually(const std::function<bool()>& condition);

/// Returns whether no process has this id, or only a dead one.
[[nodiscard]] bool is_gone(pid_t pid);

/// Returns options that run `script` in bash on every rank.
[[nodiscard]] LaunchOptions bash(int ranks, const std::string& script);

/// Returns a bash command that waits for a file.
[[nodiscard]] std::string wait_for(const std::string& file);

/// Runs a launcher in a process of its own, whose output is kept in files.
class LauncherProcess {
 public:
  explicit LauncherProcess(const LaunchOptions& options);
  explicit LauncherProcess(const std::function<int()>& body);
  ~LauncherProcess();
  LauncherProcess(const LauncherProcess&) = delete;
  LauncherProcess& operator=(const LauncherProcess&) = delete;

  void send(int signal) const;
  /// Returns the exit code, 128+n if signal n ended it; -1 after a minute.
  int wait();
  [[nodiscard]] std::string out() const { return folder_.read("out"); }
  [[nodiscard]] std::string err() const { return folder_.read("err"); }

 private:
  TemporaryFolder folder_;
  pid_t pid_ = -1;
};

/// Runs to the end; the launcher's code, stdout and stderr.
struct LaunchResult {
  int code = 0;
  std::string out;
  std::string err;
};
[[nodiscard]] LaunchResult run_launcher(const LaunchOptions& options);

}  // namespace sheaf::launch
