// Ranks that all-reduce again and again, until rank 1 is killed; the others must notice and end.
#include <ATen/ATen.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <string>

#include "sheaf/comm/group.h"
#include "sheaf/launch/run_main.h"

namespace {

constexpr int kVictim = 1;
constexpr int kFatalStep = 20;
constexpr int kSteps = 1000;

void write_line(std::ostream& stream, const std::string& line) {
  stream << line + "\n" << std::flush;
}

void reduce(const sheaf::comm::Group& world) {
  const std::string rank = "rank " + std::to_string(world.rank());
  write_line(std::cout, rank + " is process " + std::to_string(::getpid()));
  for (int step = 0; step < kSteps; ++step) {
    if (world.rank() == kVictim && step == kFatalStep) std::raise(SIGKILL);
    world.all_reduce(at::ones({1000})).wait();
  }
}

}  // namespace

int main(int argc, char** argv) {
  // A launcher sends SIGTERM to the others, but they are to say first whom they miss.
  std::signal(SIGTERM, SIG_IGN);
  const int exit_code = sheaf::launch::run_main(argc, argv, reduce);
  write_line(std::cerr, "a rank exits with " + std::to_string(exit_code));
  return exit_code;
}
