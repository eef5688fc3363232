// Ranks that find each other, add up their numbers and split into two halves.
//
//   build/examples/01_hello_group --ranks 4
//   build/sheaf launch --ranks 4 -- build/examples/01_hello_group
//   torchrun --no-python --nproc-per-node=4 build/examples/01_hello_group
//   mpirun -n 4 build/examples/01_hello_group
#include <ATen/ATen.h>

#include <iostream>
#include <sstream>

#include "sheaf/comm/group.h"
#include "sheaf/launch/run_main.h"

namespace {

void hello(const sheaf::comm::Group& world) {
  // Every rank brings its number; an all-reduce gives everybody the sum.
  const at::Tensor sum = at::full({1}, world.rank() + 1.0);
  sheaf::comm::Work work = world.all_reduce(sum);
  // ... other work could go here, while the ranks talk ...
  work.wait();

  // Ranks with the same color form a group of their own.
  const sheaf::comm::Group half = world.split(world.rank() % 2);
  const at::Tensor half_sum = at::full({1}, world.rank() + 1.0);
  half.all_reduce(half_sum).wait();

  // One write per line, so that lines of different ranks do not mix.
  std::ostringstream line;
  line << "rank " << world.rank() << " of " << world.size() << ": sum " << sum.item<double>()
       << ", sum of the " << (world.rank() % 2 == 0 ? "even" : "odd") << " ranks "
       << half_sum.item<double>() << "\n";
  std::cout << line.str() << std::flush;
}

}  // namespace

int main(int argc, char** argv) { return sheaf::launch::run_main(argc, argv, hello); }
