#pragma once

#include <string>
#include <vector>

#include "sheaf/base/error.h"

namespace sheaf::study {

/// How a program ended and what it wrote.
struct ChildResult {
  /// 128+n if signal n ended it.
  int exit_code = 0;
  std::string out;
  std::string err;
};

/// This process was asked to end while a program of its own ran.
class Interrupted : public Error {
 public:
  explicit Interrupted(int signal);
  [[nodiscard]] int signal() const { return signal_; }
  /// What shells give to programs that a signal ended.
  [[nodiscard]] int exit_code() const override { return 128 + signal_; }

 private:
  int signal_;
};

/// Runs a program, looked up in PATH, with an empty input, and waits for its end. If this process
/// dies meanwhile, the program is asked to end (SIGTERM). Throws IoError if it cannot be started,
/// and Interrupted, once the program is gone, if a train::InterruptionWatch has seen a signal.
[[nodiscard]] ChildResult run_child(const std::vector<std::string>& command);

/// Returns the last line that is not empty: where programs say why they ended.
[[nodiscard]] std::string last_line(const std::string& text);

/// Returns how this program can be started again.
[[nodiscard]] std::string own_program();

}  // namespace sheaf::study
