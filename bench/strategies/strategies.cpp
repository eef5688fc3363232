// How fast and how large is training with each strategy, beside PyTorch's own?
//
//   build/bench/strategies [--ranks 4] [--repetitions 3] [--steps 10] [--only zero3]
//
// trains the same GPT with the same values on both sides, in turns, and prints a table. With
// --strategy it is one of the things compared, a rank that prints its figures:
//
//   build/bench/strategies --ranks 2 --strategy zero3
#include <iostream>

#include "cli/option_set.h"
#include "compare.h"
#include "one_rank.h"
#include "sheaf/launch/run_main.h"

namespace {

using sheaf::bench::CompareOptions;

sheaf::cli::Request parse(int argc, char** argv, CompareOptions& options) {
  sheaf::cli::OptionSet set;
  set.value("strategy", options.run.strategy, "train with this strategy, and compare nothing");
  set.value("only", options.only, "compare this strategy alone");
  set.value("ranks", options.ranks, "ranks of either side", sheaf::at_least(1));
  set.value("repetitions", options.repetitions, "runs of each side", sheaf::at_least(1));
  set.value("steps", options.run.steps, "steps that are measured", sheaf::at_least(1));
  set.value("warm-up", options.run.warm_up, "steps before them", sheaf::at_least(0));
  set.value("batch", options.run.batch, "texts per rank; 0: 8 over all", sheaf::at_least(0));
  set.value("learning-rate", options.run.learning_rate, "of AdamW", sheaf::at_least(0.0));
  set.value("python", options.python, "the interpreter that has torch");
  set.value("peer", options.peer, "the PyTorch side");
  const auto request = set.parse(std::vector<std::string>(argv + 1, argv + argc));
  if (request == sheaf::cli::Request::help) {
    std::cout << set.help("strategies", "compare the strategies with PyTorch's");
  }
  return request;
}

}  // namespace

int main(int argc, char** argv) try {
  CompareOptions options{.program = argv[0],
                         .python = ".deps/venv/bin/python3",
                         .peer = "bench/strategies/pytorch_peer.py"};
  if (parse(argc, argv, options) == sheaf::cli::Request::help) return 0;
  if (!options.run.strategy.empty()) {
    return sheaf::launch::run_main(argc, argv, [&](const sheaf::comm::Group& group) {
      sheaf::bench::train_one_rank(options.run, group);
    });
  }
  sheaf::bench::compare(options);
  return 0;
} catch (const std::exception& error) {
  std::cerr << "strategies: " << error.what() << "\n";
  return 1;
}
