// How fast and how large is training a GPT on the CPU, alone and on several ranks, beside PyTorch?
//
//   build/bench/cpu_training [--repetitions 3] [--steps 10] [--ranks 2] [--only zero3]
#include "program.h"

int main(int argc, char** argv) {
  using namespace sheaf::bench;
  return run_program(argc, argv, [](const ProgramOptions& options) {
    std::vector<Contest> contests{{kAlone, 1}};
    for (const Strategy& strategy : kStrategies) contests.push_back({strategy, options.ranks});
    std::erase_if(contests, [&](const Contest& contest) {
      return !options.only.empty() && options.only != contest.strategy.name;
    });
    return contests;
  });
}
