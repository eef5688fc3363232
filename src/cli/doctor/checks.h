#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "sheaf/base/options.h"

namespace sheaf::cli::doctor {

/// `note`: sheaf works, but the user may want to know. `wrong`: something sheaf needs does not.
enum class Status { ok, note, wrong };

constexpr auto enum_names(Status) {
  return std::array{
      EnumName{"ok", Status::ok}, EnumName{"note", Status::note}, EnumName{"wrong", Status::wrong}};
}

/// One line of the report.
struct Check {
  std::string name;
  std::string value;
  Status status = Status::ok;
  /// What to do about it, one sentence without a full stop; empty if there is nothing to do.
  std::string advice;
};

/// Looks at this machine and tries every backend. Takes a second or so; a backend that hangs is
/// given up after a minute. Forks, so it should run before anything else has started threads.
[[nodiscard]] std::vector<Check> run_checks();

/// Tells whether no check is wrong.
[[nodiscard]] bool is_healthy(std::span<const Check> checks);

}  // namespace sheaf::cli::doctor
