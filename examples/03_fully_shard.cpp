// ZeRO-3 for a plain torch::nn::Sequential: each rank keeps its part of parameters, gradients and
// optimizer state, and layers are whole only while they compute. The model is not changed for it.
//
//   build/examples/03_fully_shard --ranks 2          (also torchrun, mpirun, srun, sheaf launch)
#include <torch/nn.h>

#include <iostream>
#include <sstream>

#include "sheaf/launch/run_main.h"
#include "sheaf/module/deferred.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/sharding/shard.h"

namespace nn = torch::nn;
namespace {

void train(const sheaf::comm::Group& world) {
  // Built without memory: shard() fills each layer and keeps this rank's part of it.
  nn::Sequential model = sheaf::deferred([] {
    nn::Sequential layers(nn::Linear(64, 512), nn::GELU());
    for (int i = 0; i < 12; ++i) {
      i % 2 == 0 ? layers->push_back(nn::Linear(512, 512)) : layers->push_back(nn::GELU());
    }
    layers->push_back(nn::Linear(512, 10));
    return layers;
  });
  const auto state = sheaf::fully_shard(*model, {.group = world, .seed = 1});
  sheaf::optim::AdamW optimizer(state.slots(), {.learning_rate = 1e-3});

  at::manual_seed(7);
  const at::Tensor x = at::randn({240, 64});  // learnt by heart: the loss must fall
  const at::Tensor y = at::randint(10, {240}, at::kLong);
  for (int step = 0; step <= 40; ++step) {
    const std::int64_t part = 240 / world.size();
    const at::Tensor loss =
        at::cross_entropy_loss(model->forward(x.narrow(0, world.rank() * part, part)),
                               y.narrow(0, world.rank() * part, part),
                               {},
                               at::Reduction::Sum) /
        240;
    loss.backward();
    state.clip_gradients(1.0);
    optimizer.step();
    const at::Tensor total = loss.detach().clone();
    world.all_reduce(total).wait();
    if (world.rank() == 0 && step % 10 == 0) {
      std::cout << "step " << step << ": loss " << total.item<double>() << std::endl;
    }
  }
  std::ostringstream line;
  line << "rank " << world.rank() << " keeps " << sheaf::to_string(state.ledger().current())
       << ", at most " << sheaf::to_string(state.ledger().peak()) << "\n";
  std::cout << line.str() << std::flush;
}

}  // namespace

int main(int argc, char** argv) { return sheaf::launch::run_main(argc, argv, train); }
