// Two ranks, as threads of this process, add up their numbers.
#include <ATen/ATen.h>

#include <iostream>

#include "sheaf/comm/run_ranks.h"

int main() {
  sheaf::comm::run_ranks(2, [](const sheaf::comm::Group& world) {
    const at::Tensor sum = at::full({1}, world.rank() + 1.0);
    world.all_reduce(sum).wait();
    if (world.rank() == 0) {
      std::cout << "the sum over " << world.size() << " ranks is " << sum.item<double>() << "\n";
    }
  });
  return 0;
}
