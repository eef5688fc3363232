#include "program.h"

#include <iostream>

#include "cli/option_set.h"
#include "one_rank.h"
#include "sheaf/launch/run_main.h"

namespace sheaf::bench {
namespace {

cli::Request parse(int argc, char** argv, ProgramOptions& options) {
  cli::OptionSet set;
  RunOptions& run = options.compare.run;
  set.value("strategy", run.strategy, "train with this strategy, and compare nothing");
  set.value("model", run.model, "sheaf's model", one_of({"gpt2", "plain"}));
  set.value("only", options.only, "compare this strategy alone");
  set.value("ranks", options.ranks, "ranks of either side", at_least(1));
  set.value("repetitions", options.compare.repetitions, "runs of each side", at_least(1));
  set.value("steps", run.steps, "steps that are measured", at_least(1));
  set.value("warm-up", run.warm_up, "steps before them", at_least(0));
  set.value("batch", run.batch, "texts per rank; 0: 8 over all", at_least(0));
  set.value("learning-rate", run.learning_rate, "of AdamW", at_least(0.0));
  set.value("python", options.compare.python, "the interpreter that has torch");
  set.value("peer", options.compare.peer, "the PyTorch side");
  const auto request = set.parse(std::vector<std::string>(argv + 1, argv + argc));
  if (request == cli::Request::help) {
    std::cout << set.help("bench", "compare training with PyTorch's");
  }
  return request;
}

}  // namespace

int run_program(int argc,
                char** argv,
                const std::function<std::vector<Contest>(const ProgramOptions&)>& choose) try {
  ProgramOptions options{.compare = {.program = argv[0],
                                     .python = ".deps/venv/bin/python3",
                                     .peer = "bench/training/pytorch_peer.py"}};
  if (parse(argc, argv, options) == cli::Request::help) return 0;
  if (!options.compare.run.strategy.empty()) {
    return launch::run_main(
        argc, argv, [&](const comm::Group& group) { train_one_rank(options.compare.run, group); });
  }
  compare(options.compare, choose(options));
  return 0;
} catch (const std::exception& error) {
  std::cerr << argv[0] << ": " << error.what() << "\n";
  return 1;
}

}  // namespace sheaf::bench
