// How near is a training step on one GPU to what the card can do, and to PyTorch?
//
//   build/bench/gpu_training --row gpt2-large-b8 [--steps 20] [--warm-up 5] [--skip light,compile]
//                            [--python python3] [--attention flash] [--sheaf train.graph=off]
//                            [--json FILE]
//
// measures one row on one machine, one process after the other: the speed of light (light.py: the
// best time of every product, attention, and memory traffic at the speed of a copy; by long
// stretches of each, by bursts, and with whole steps of products and attention in a row), PyTorch
// eager as it comes and tuned and torch.compile (pytorch_peer.py), sheaf, and where the time of
// sheaf's step goes by kernel class. A part that fails is named at the end; the others are measured
// all the same.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>

#include "base/command_line.h"
#include "page.h"
#include "run_program.h"
#include "sheaf/base/error.h"
#include "study/child.h"
#include "temporary_folder.h"

namespace sheaf::bench {
namespace {

struct ProgramOptions {
  std::string row = "gpt2-large-b8";
  std::vector<std::string> skip;
  std::string json;
  Contest contest;
};

const std::vector<std::string> kParts = {"light", "plain", "eager", "compile", "sheaf", "budget"};

bool is_skipped(const ProgramOptions& options, const std::string& part) {
  return std::ranges::find(options.skip, part) != options.skip.end();
}

/// The project's own interpreter, or whichever there is: in a bundle.
std::string default_python() {
  const std::string own = ".deps/venv/bin/python3";
  return std::filesystem::exists(own) ? own : "python3";
}

/// sheaf is beside the folder of benchmarks, in a build as in a bundle.
std::string default_program() {
  const auto own = std::filesystem::read_symlink("/proc/self/exe");
  return (own.parent_path().parent_path() / "sheaf").string();
}

/// In a bundle the program itself is where the repository has the folder.
std::string default_scripts() {
  const std::string own = "bench/gpu_training";
  return std::filesystem::is_directory(own) ? own : "bench/gpu_training_scripts";
}

/// Returns the last line that a command writes; empty if it fails.
std::string line_of(const std::vector<std::string>& command) {
  try {
    const study::ChildResult result = study::run_child(command);
    return result.exit_code == 0 ? study::last_line(result.out) : "";
  } catch (const Error&) {
    return "";
  }
}

std::string gpu_state() {
  return line_of({"nvidia-smi",
                  "--format=csv,noheader",
                  "--query-gpu=name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,"
                  "clocks.max.mem,temperature.gpu,power.draw,power.limit"});
}

std::string versions(const std::string& python) {
  return line_of({python,
                  "-c",
                  "import torch; print('torch', torch.__version__, 'CUDA', torch.version.cuda, "
                  "'cuDNN', torch.backends.cudnn.version())"});
}

/// Runs the parts of the benchmark in turn, prints what they find and keeps it.
class Session {
 public:
  explicit Session(const ProgramOptions& options) : options_(options) {
    results_.contest = options.contest;
    results_.command = fmt::format("{}", fmt::join(own_command_line(), " "));
    results_.date = fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr)));
    results_.versions = versions(options.contest.python);
    results_.gpu_before = gpu_state();
    show(heading(results_));
    // A file that cannot be written is better known now.
    save();
  }

  int run() {
    part("light", [&] { find_light(); });
    const Contest& contest = options_.contest;
    part("plain", [&] { add_side(kPlain, run_pytorch(contest, PyTorchStyle::plain)); });
    part("eager", [&] { add_side(kEager, run_pytorch(contest, PyTorchStyle::tuned)); });
    part("compile", [&] { add_side(kCompile, run_pytorch(contest, PyTorchStyle::compiled)); });
    part("sheaf", [&] { add_side(kSheaf, run_sheaf(contest)); });
    if (results_.light) show(light_page(results_));
    if (contest.row.device == "cuda") part("budget", [&] { find_budget(); });
    results_.gpu_after = gpu_state();
    show(closing(results_));
    save();
    return results_.failures.empty() ? 0 : 1;
  }

 private:
  static void show(const std::string& text) { std::cout << text << std::flush; }

  void part(const std::string& name, const std::function<void()>& measure) {
    if (is_skipped(options_, name)) return;
    try {
      measure();
    } catch (const std::exception& error) {
      results_.failures.push_back(fmt::format("{}: {}", name, error.what()));
      std::cerr << results_.failures.back() << "\n";
    }
    // Now, since a later part may be ended from outside.
    save();
  }

  void find_light() {
    const Contest& contest = options_.contest;
    results_.light = light_of(contest.work, measure_light(contest));
    show(light_rows(results_));
    // The light itself counts all the same.
    const nlohmann::json& sustained = results_.light->measured.at("sustained");
    if (!results_.light->sustained_ms()) {
      throw Error("no light without rest: " + sustained.value("failed", ""));
    }
  }

  void add_side(const char* name, const Figures& figures) {
    results_.sides.push_back({name, figures});
    show(side_row(results_, results_.sides.back()));
  }

  void find_budget() {
    const TemporaryFolder folder;
    record_sheaf(options_.contest, folder / "log");
    const Budget budget = budget_of(profile::read_trace(folder / "log"));
    if (budget.classes.empty()) throw Error("sheaf's trace has no kernels in it");
    results_.budget = budget;
    show(budget_page(results_));
  }

  void save() const {
    if (options_.json.empty()) return;
    std::ofstream file(options_.json);
    // What a program said when it failed need not be UTF-8.
    file << json_of(results_).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    if (!file.flush()) throw IoError("cannot write " + options_.json);
  }

  const ProgramOptions& options_;
  Results results_;
};

void declare(cli::OptionSet& set, ProgramOptions& options) {
  Contest& contest = options.contest;
  set.value("row", options.row, "what is trained, such as gpt2-large-b8");
  set.value("steps", contest.steps, "steps that are measured", at_least(1));
  set.value("warm-up", contest.warm_up, "steps before them", at_least(1));
  set.value(
      "skip", options.skip, "parts to leave out: light, plain, eager, compile, sheaf, budget");
  set.value("attention",
            contest.attention,
            "PyTorch's attention kernel where it is tuned; empty: the fastest");
  set.repeated("sheaf", contest.changes, "other option of sheaf, such as train.graph=off");
  set.value("json", options.json, "file for all figures");
  set.value("python", contest.python, "the interpreter that has torch");
  set.value("scripts", contest.scripts, "folder of the Python files");
  set.value("program", contest.program, "sheaf");
}

int run(ProgramOptions& options) {
  for (const std::string& part : options.skip) {
    if (std::ranges::find(kParts, part) == kParts.end()) {
      throw UsageError(fmt::format("--skip takes {}, got '{}'", fmt::join(kParts, ", "), part));
    }
  }
  options.contest.row = find_row(options.row);
  options.contest.work = work_of(options.contest.row);
  // Before minutes are spent on what it is compared with.
  if (!is_skipped(options, "sheaf")) check_sheaf(options.contest);
  return Session(options).run();
}

}  // namespace
}  // namespace sheaf::bench

int main(int argc, char** argv) {
  using namespace sheaf::bench;
  ProgramOptions options;
  options.contest.python = default_python();
  options.contest.scripts = default_scripts();
  options.contest.program = default_program();
  return run_program(
      argc,
      argv,
      "one training step beside the card's limits and PyTorch",
      [&](sheaf::cli::OptionSet& set) { declare(set, options); },
      [&] { return run(options); });
}
