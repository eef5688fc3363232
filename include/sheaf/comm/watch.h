#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "sheaf/base/error.h"
#include "sheaf/base/options.h"
#include "sheaf/base/units.h"
#include "sheaf/comm/traffic.h"

namespace sheaf::comm {

/// How calls of different ranks are held against each other. `cheap`: whoever arrives last sees
/// what the others called, before it joins them; ranks of other hosts are compared within a second.
/// `full`: all ranks compare before every exchange, which costs one more exchange each time.
enum class Check { off, cheap, full };

constexpr auto enum_names(Check) {
  return std::array{
      EnumName{"off", Check::off}, EnumName{"cheap", Check::cheap}, EnumName{"full", Check::full}};
}

/// How the ranks of a group watch each other.
struct WatchOptions {
  Check check = Check::cheap;
  /// How long a call may wait for other ranks before it is taken for a hang; 0: nobody looks.
  Seconds timeout{0};
  /// Where every rank leaves its last calls and its stacks when ranks disagree or hang; empty:
  /// nowhere.
  std::string folder = {};
  /// Called on a thread of its own when ranks disagree or hang, after the reports are written, with
  /// the sentence that says why; to end the process. Null: calls throw WatchError where they can.
  std::function<void(const std::string& sentence)> end_process = nullptr;
};

/// A call before it is made, for drills.
struct CallNote {
  /// In the world.
  int rank = 0;
  Kind kind = Kind::barrier;
  std::string_view unit = {};
};

struct Fate {
  /// This rank does not make the call, but goes on as if it had.
  bool dropped = false;
  Seconds delay{0};
};

/// Decides what becomes of a call; asked before each. For drills only.
using Interference = std::function<Fate(const CallNote&)>;

/// Exit code of a run that the watch has ended.
inline constexpr int kWatchExitCode = 3;

/// Ranks called different things, or one of them did not arrive in time.
class WatchError : public CommError {
 public:
  using CommError::CommError;
  [[nodiscard]] int exit_code() const override { return kWatchExitCode; }
  [[nodiscard]] std::exception_ptr with_prefix(const std::string& prefix) const override {
    return std::make_exception_ptr(WatchError(prefix + what()));
  }
};

}  // namespace sheaf::comm
