#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::cli {

class OptionSet;

/// Where a command writes: results on `out`, nothing else; the log has stderr to itself.
struct Console {
  std::ostream& out;
  std::ostream& err;
};

/// One subcommand of the program. `declare` names its options and has no side effects; `run` does
/// the work after everything was parsed and checked.
class Command {
 public:
  virtual ~Command() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// One line for the list of commands, without a full stop.
  [[nodiscard]] virtual std::string_view summary() const = 0;
  virtual void declare(OptionSet& options) = 0;
  /// Returns the exit code. Errors are thrown as sheaf::Error.
  virtual int run(Console& console) = 0;
};

}  // namespace sheaf::cli
