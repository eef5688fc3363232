// Two ranks as threads train a model, and a hook of the engine races on purpose, on a number or on
// the handle of a tensor: the thread sanitizer must report it, or its suppressions hide our own
// code.
#include <cstdio>
#include <cstring>

#include <ATen/ops/zeros.h>

#include "sharding/training.h"
#include "sheaf/comm/run_ranks.h"

int main(int argc, char** argv) {
  const auto given = [&](const char* option) {
    return argc > 1 && std::strcmp(argv[1], option) == 0;
  };
  const bool race = given("--race"), tensor = given("--tensor");
  int num_events = 0;
  at::Tensor last;
  sheaf::comm::run_ranks(2, [&](const sheaf::comm::Group& world) {
    int own_events = 0;
    const at::Tensor own = at::zeros({1});
    const auto count = [&](const sheaf::sharding::Event&) {
      race ? ++num_events : ++own_events;
      if (tensor) last = own;
    };
    static_cast<void>(sheaf::testing::train_sharded(
        sheaf::testing::mlp_task(), {.steps = 3}, {.group = world, .on_event = count}));
  });
  std::puts("trained");
  return 0;
}
