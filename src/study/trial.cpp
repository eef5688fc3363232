#include "study/trial.h"

#include <fmt/format.h>

#include <algorithm>

#include "sheaf/base/error.h"
#include "sheaf/base/toml.h"
#include "study/child.h"
#include "study/files.h"

namespace sheaf::study {
namespace {

namespace fs = std::filesystem;

// What a rank ends with that the system's own guard against lack of memory has killed.
constexpr int kKilled = 137;
constexpr const char* kTrialFile = "trial.toml";

/// Tells whether a folder is of an earlier try, which may have been killed at any moment.
bool is_a_trials(const fs::path& folder) {
  if (!fs::is_directory(folder)) return false;
  const fs::directory_iterator files(folder);
  return fs::is_empty(folder) || std::ranges::any_of(files, [](const fs::directory_entry& file) {
           return file.path().filename().string().starts_with(kTrialFile);
         });
}

/// Removes what an earlier try has left, and nothing that is somebody else's.
fs::path fresh_folder(const Trial& trial, const fs::path& folder) {
  const fs::path own = folder / trial.name;
  if (fs::exists(own)) {
    if (!is_a_trials(own)) {
      throw UsageError(fmt::format(
          "{} is there already, and not of an earlier try: give another --out", own.string()));
    }
    // By another name first: half a folder would not be known as a trial's any more.
    const fs::path removed = own.string() + ".removed";
    fs::remove_all(removed);
    fs::rename(own, removed);
    fs::remove_all(removed);
  }
  make_folder(own);
  return own;
}

std::vector<std::string> command_for(const std::string& word,
                                     const Trial& trial,
                                     const fs::path& own) {
  train::RunOptions options = trial.options;
  options.log.dir = own.string();
  options.log.tensorboard = false;
  const fs::path file = own / kTrialFile;
  replace_file(file, write_toml(fields_of(options)));
  return {own_program(), word, file.string(), "--ranks", std::to_string(trial.ranks)};
}

Ending ending_of(const ChildResult& result) {
  if (result.exit_code == 0) return Ending::finished;
  const bool had_too_little =
      result.exit_code == kKilled || result.err.find("out of memory") != std::string::npos;
  return had_too_little ? Ending::out_of_memory : Ending::failed;
}

}  // namespace

std::string_view name(Ending ending) {
  switch (ending) {
    case Ending::finished:
      return "finished";
    case Ending::out_of_memory:
      return "out of memory";
    case Ending::failed:
      break;
  }
  return "failed";
}

train::RunOptions only_steps(train::RunOptions options, std::int64_t steps) {
  options.train.steps = steps;
  options.train.tokens = 0;
  options.train.epochs = 0;
  options.train.evaluate = false;
  options.train.sample_tokens = 0;
  options.train.export_to = "";
  options.schedule.warmup_steps = 0;
  options.schedule.total_steps = 0;
  options.schedule.decay_steps = std::min(options.schedule.decay_steps, steps);
  options.checkpoint = {};
  options.profile.steps = "";
  options.log.baseline = "";
  // Speeds and percentiles need some steps that count.
  options.log.warm_up = std::min(options.log.warm_up, steps / 3);
  return options;
}

TrialResult run_trial(const Trial& trial, const fs::path& folder) {
  const fs::path own = fresh_folder(trial, folder);
  TrialResult result;
  result.command = command_for("train", trial, own);
  const ChildResult child = run_child(result.command);
  result.ending = ending_of(child);
  if (result.ending == Ending::finished) {
    result.run = read_run(own);
  } else {
    result.reason = last_line(child.err);
  }
  return result;
}

Json measure_memory(const Trial& trial, const fs::path& folder) {
  const fs::path own = fresh_folder(trial, folder);
  auto command = command_for("memory", trial, own);
  command.insert(command.end(), {"--json", "--step=5", "--steps=3"});
  if (trial.options.comm.device == comm::DeviceKind::cuda) {
    command.push_back("--snapshot=" + (own / "snapshot.pickle").string());
  }
  const ChildResult child = run_child(command);
  if (child.exit_code != 0) return {};
  Json report = Json::parse(child.out, nullptr, /*allow_exceptions=*/false);
  if (!report.is_object()) return {};
  report["command"] = command;
  return report;
}

}  // namespace sheaf::study
