// How fast and how large is training a GPT on the CPU, alone and on several ranks, beside PyTorch?
//
//   build/bench/cpu_training [--repetitions 3] [--steps 10] [--ranks 2] [--only zero3]
#include "compare.h"
#include "program.h"

int main(int argc, char** argv) {
  using namespace sheaf::bench;
  return run_program(argc, argv, {}, [](const ProgramOptions& options) {
    std::vector<Contest> contests = options.contests();
    const Contest alone{kAlone, 1};
    if (options.only.empty() || options.only == kAlone.name) {
      contests.insert(contests.begin(), alone);
    }
    compare(options.compare, contests);
  });
}
