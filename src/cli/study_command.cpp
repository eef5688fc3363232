#include "cli/study_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <ostream>

#include "cli/exit_codes.h"
#include "cli/option_set.h"
#include "sheaf/base/error.h"
#include "sheaf/base/log.h"
#include "sheaf/train/interruption.h"
#include "study/child.h"
#include "study/files.h"
#include "study/report/report.h"

namespace sheaf::cli {

void StudyCommand::declare(OptionSet& options) {
  options.config_file();
  options.value("out", out_, "folder for the report and all that it is made of");
  options.add("study", study_);
  options.add(options_);
}

int StudyCommand::run(Console& console) {
  if (out_.empty()) throw UsageError("say where the report goes: --out runs/study, for example");
  const std::filesystem::path folder(out_);
  study::make_folder(folder);
  const train::InterruptionWatch interruption;
  study::Json data;
  try {
    data = study::run_study(
        study_, options_, folder, [](const std::string& what) { log::info("study", what); });
  } catch (const study::Interrupted& stopped) {
    log::warning("study",
                 fmt::format("{}; the same command goes on after the last part that is in {}",
                             stopped.what(),
                             (folder / "parts").string()));
    return exit_code_of_stop(stopped.signal());
  }
  const study::Json report = study::make_report(study_.title, data);
  study::replace_file(folder / "report.json",
                      report.dump(1, ' ', false, study::Json::error_handler_t::replace) + "\n");
  study::replace_file(folder / "report.md", study::report_markdown(report));
  study::replace_file(folder / "report.html", study::report_html(report));
  console.out << fmt::format("{}\n\n{}\nbeside it report.json and report.md\n",
                             report["verdict"].get<std::string>(),
                             (folder / "report.html").string());
  return 0;
}

}  // namespace sheaf::cli
