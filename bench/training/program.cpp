#include "program.h"

#include <filesystem>
#include <iostream>

#include "cli/option_set.h"
#include "one_rank.h"
#include "sheaf/comm/init.h"
#include "sheaf/launch/start_ranks.h"
#include "sheaf/memory/cpu_reuse.h"

namespace sheaf::bench {
namespace {

cli::Request parse(int argc, char** argv, ProgramOptions& options) {
  cli::OptionSet set;
  RunOptions& run = options.compare.run;
  set.value("strategy", run.strategy, "train with this strategy, and compare nothing");
  set.value("model", run.model, "sheaf's model", one_of({"gpt2", "plain"}));
  set.value("size", run.size, "parameters of the model", one_of({"14m", "124m"}));
  set.value("device", run.device, "where both sides compute");
  set.value("backend", run.backend, "what carries data between sheaf's ranks");
  set.value("exchange", run.exchange, "sheaf's exchanges: beside computation, waited for, none");
  set.value("only", options.only, "compare this strategy alone");
  set.value("ranks", options.ranks, "ranks of either side", at_least(1));
  set.value("repetitions", options.compare.repetitions, "runs of each side", at_least(1));
  set.value("steps", run.steps, "steps that are measured", at_least(1));
  set.value("warm-up", run.warm_up, "steps before them", at_least(0));
  set.value("batch", run.batch, "texts per rank; 0: 8 over all", at_least(0));
  set.value("learning-rate", run.learning_rate, "of AdamW", at_least(0.0));
  set.value("mps", options.mps, "gpu_ranks: with MPS, without", one_of({"on", "off", "both"}));
  set.flag("speed-only", options.speed_only, "gpu_ranks: do not measure what is hidden");
  set.value("json", options.json, "gpu_ranks: file for all figures");
  set.value("python", options.compare.python, "the interpreter that has torch");
  set.value("peer", options.compare.peer, "the PyTorch side");
  const auto request = set.parse(std::vector<std::string>(argv + 1, argv + argc));
  if (request == cli::Request::help) {
    std::cout << set.help("bench", "compare training with PyTorch's");
  }
  return request;
}

/// The project's own interpreter, or whichever there is: in a bundle.
std::string default_python() {
  const std::string own = ".deps/venv/bin/python3";
  return std::filesystem::exists(own) ? own : "python3";
}

int run_one_side(int argc, char** argv, const RunOptions& run) {
  if (const auto exit_code = launch::start_ranks(argc, argv)) return *exit_code;
  memory::reuse_cpu_memory();
  train_one_rank(run, comm::init({.backend = run.backend, .device = run.device}));
  return 0;
}

}  // namespace

std::vector<Contest> ProgramOptions::contests() const {
  std::vector<Contest> contests;
  for (const Strategy& strategy : kStrategies) {
    if (only.empty() || only == strategy.name) contests.push_back({strategy, ranks});
  }
  return contests;
}

int run_program(int argc,
                char** argv,
                ProgramOptions defaults,
                const std::function<void(const ProgramOptions&)>& run) try {
  ProgramOptions options = std::move(defaults);
  options.compare.program = std::filesystem::read_symlink("/proc/self/exe").string();
  options.compare.python = default_python();
  options.compare.peer = "bench/training/pytorch_peer.py";
  if (parse(argc, argv, options) == cli::Request::help) return 0;
  if (!options.compare.run.strategy.empty()) return run_one_side(argc, argv, options.compare.run);
  run(options);
  return 0;
} catch (const std::exception& error) {
  std::cerr << argv[0] << ": " << error.what() << "\n";
  return 1;
}

}  // namespace sheaf::bench
