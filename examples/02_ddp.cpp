// Data parallel training of a model that sheaf knows nothing of: every rank has the whole model and
// a part of each batch, and all take the same step.
//
//   build/examples/02_ddp --ranks 2          (also torchrun, mpirun, srun, sheaf launch)
#include <torch/nn.h>

#include <iostream>

#include "sheaf/launch/run_main.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/sharding/shard.h"

namespace {

/// Any torch::nn::Module; this one learns to tell whether two numbers have the same sign.
struct Net : torch::nn::Module {
  Net() {
    hidden = register_module("hidden", torch::nn::Linear(2, 32));
    output = register_module("output", torch::nn::Linear(32, 1));
  }
  at::Tensor forward(const at::Tensor& x) { return output(at::relu(hidden(x))); }
  torch::nn::Linear hidden{nullptr}, output{nullptr};
};

void train(const sheaf::comm::Group& world) {
  constexpr int kGlobalBatch = 512;
  Net model;
  const auto state = sheaf::replicate(model, {.group = world});  // all start from rank 0's values
  sheaf::optim::AdamW optimizer(state.slots(), {.learning_rate = 1e-2});

  at::manual_seed(static_cast<std::uint64_t>(world.rank()));  // each rank draws samples of its own
  for (int step = 0; step <= 200; ++step) {
    const at::Tensor x = at::randn({kGlobalBatch / world.size(), 2});
    const at::Tensor same_sign = (x.prod(1, /*keepdim=*/true) > 0).to(at::kFloat);
    // Gradients are summed over ranks, so every rank divides by the whole batch.
    const at::Tensor loss = at::binary_cross_entropy_with_logits(
                                model.forward(x), same_sign, {}, {}, at::Reduction::Sum) /
                            kGlobalBatch;
    loss.backward();   // exchanges gradients while it runs
    optimizer.step();  // and forgets them

    const at::Tensor total = loss.detach().clone();
    world.all_reduce(total).wait();
    if (world.rank() == 0 && step % 50 == 0) {
      std::cout << "step " << step << ": loss " << total.item<double>() << std::endl;
    }
  }
}

}  // namespace

int main(int argc, char** argv) { return sheaf::launch::run_main(argc, argv, train); }
