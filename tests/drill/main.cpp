// The long drill: ./dev drill [KILLS [SEED]].
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "drill/kill_drill.h"
#include "drill/same_checkpoints.h"
#include "sheaf/base/error.h"
#include "sheaf/checkpoint/folder.h"
#include "support/temporary_folder.h"

namespace sheaf::drill {
namespace {

int run(const DrillOptions& wanted) {
  const testing::TemporaryFolder disturbed;
  const testing::TemporaryFolder whole;
  DrillOptions options = wanted;
  options.folder = disturbed.path();
  const auto began = std::chrono::steady_clock::now();
  const DrillResult result = run_drill(options);
  const Seconds time = std::chrono::steady_clock::now() - began;
  std::cout << table_of(result) << "\n" << std::flush;
  options.folder = whole.path();
  run_undisturbed(options, result.final_step);
  std::int64_t most = 0;
  for (const Kill& kill : result.kills) most = std::max(most, kill.step - kill.resumed);
  const std::string difference =
      first_difference(checkpoint::path_of_step(whole.path("saved"), result.final_step),
                       checkpoint::path_of_step(disturbed.path("saved"), result.final_step));
  std::cout << fmt::format(
      "{} kills of {} ranks and their launcher, seed {}, a checkpoint every {} steps, {}; {} steps "
      "in {}\n"
      "steps that a kill made the run repeat, at most: {}\n"
      "weights and optimizer states of step {}: {}\n",
      result.kills.size(),
      options.ranks,
      options.seed,
      options.every,
      options.asynchronous ? "in the background" : "waited for",
      result.final_step,
      to_string(time),
      most,
      result.final_step,
      difference.empty() ? "the same as of an undisturbed run, bit for bit"
                         : "NOT those of an undisturbed run: " + difference);
  const bool is_late = most > options.every * (options.asynchronous ? 2 : 1);
  return difference.empty() && !is_late ? 0 : 1;
}

}  // namespace
}  // namespace sheaf::drill

int main(int argc, char** argv) try {
  sheaf::drill::DrillOptions options{.program = SHEAF_PROGRAM, .kills = 50};
  if (argc > 1) options.kills = std::atoi(argv[1]);
  if (argc > 2) options.seed = std::strtoull(argv[2], nullptr, 10);
  options.asynchronous = argc > 3 && std::string(argv[3]) == "asynchronous";
  return sheaf::drill::run(options);
} catch (const std::exception& error) {
  std::cerr << "kill_drill: " << error.what() << "\n";
  return 1;
}
