#include "cli/compare_command.h"

#include <ostream>

#include "cli/option_set.h"
#include "study/compare.h"
#include "study/files.h"
#include "study/report/report.h"

namespace sheaf::cli {

void CompareCommand::declare(OptionSet& options) {
  options.positionals(
      "run", folders_, "log folders of runs; the first is what others stand beside");
  options.value("html", html_, "file for the same as a page");
  options.flag("json", json_, "print JSON instead of tables and plots");
}

int CompareCommand::run(Console& console) {
  const study::Json comparison = study::compare_runs(folders_);
  if (!html_.empty()) {
    study::replace_file(html_, study::report_html(study::compare_report(comparison)));
  }
  console.out << (json_
                      ? comparison.dump(2, ' ', false, study::Json::error_handler_t::replace) + "\n"
                      : study::compare_page(comparison));
  return 0;
}

}  // namespace sheaf::cli
