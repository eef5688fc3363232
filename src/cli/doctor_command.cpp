#include "cli/doctor_command.h"

#include <ostream>

#include "cli/doctor/checks.h"
#include "cli/doctor/report.h"
#include "cli/option_set.h"

namespace sheaf::cli {

void DoctorCommand::declare(OptionSet& options) {
  options.flag("json", json_, "print the report as one JSON object");
}

int DoctorCommand::run(Console& console) {
  const auto checks = doctor::run_checks();
  console.out << (json_ ? doctor::as_json(checks) : doctor::as_text(checks));
  return doctor::is_healthy(checks) ? 0 : 1;
}

}  // namespace sheaf::cli
