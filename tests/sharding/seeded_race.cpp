// Two ranks as threads train a model, and a hook of the engine races on purpose: the thread
// sanitizer must report it, or its suppressions hide our own code.
#include <cstdio>
#include <cstring>

#include "sharding/training.h"
#include "sheaf/comm/run_ranks.h"

int main(int argc, char** argv) {
  const bool race = argc > 1 && std::strcmp(argv[1], "--race") == 0;
  int num_events = 0;
  sheaf::comm::run_ranks(2, [&](const sheaf::comm::Group& world) {
    int own_events = 0;
    const auto count = [&](const sheaf::sharding::Event&) { race ? ++num_events : ++own_events; };
    static_cast<void>(sheaf::testing::train_sharded(
        sheaf::testing::mlp_task(), {.steps = 3}, {.group = world, .on_event = count}));
  });
  std::puts("trained");
  return 0;
}
