// How fast and how large is training with each strategy, beside PyTorch's own?
//
//   build/bench/strategies [--ranks 4] [--repetitions 3] [--steps 10] [--only zero3] [--model
//   plain]
//
// trains the same GPT with the same values on both sides, in turns, and prints a table. With
// --strategy it is one of the things compared, a rank that prints its figures:
//
//   build/bench/strategies --ranks 2 --strategy zero3
#include "compare.h"
#include "program.h"

int main(int argc, char** argv) {
  using namespace sheaf::bench;
  return run_program(argc, argv, {}, [](const ProgramOptions& options) {
    compare(options.compare, options.contests());
  });
}
