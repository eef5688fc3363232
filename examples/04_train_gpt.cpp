// Trains a small GPT on the text inside the library, with the library's parts one by one:
//   04_train_gpt --ranks 2
#include <ATen/core/Tensor.h>

#include <iostream>

#include "sheaf/data/loader.h"
#include "sheaf/data/options.h"
#include "sheaf/launch/run_main.h"
#include "sheaf/models/generate.h"
#include "sheaf/models/model.h"
#include "sheaf/module/deferred.h"
#include "sheaf/module/forward.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/sharding/shard.h"

using namespace sheaf;

namespace {

constexpr std::int64_t kContext = 64;
constexpr int kSteps = 100;

void train(const comm::Group& world) {
  const data::Data text = data::open({}, {.context = kContext});
  data::Loader loader(text.training,
                      {.rank = world.rank(), .ranks = world.size(), .global_batch = 16});

  // Built without memory: each rank then makes only its own part, the same for any number of ranks.
  auto model = deferred([] { return models::build({.preset = "gpt2-tiny", .context = kContext}); });
  const auto state =
      shard(*model,
            {.group = world, .stage = Stage::zero3, .wrap = {.names = model->blocks()}, .seed = 1});
  optim::AdamW optimizer(state.slots(), {.learning_rate = 3e-3});

  for (int step = 0; step < kSteps; ++step) {
    const data::Batch batch = loader.next();
    // What dropout draws by, if a model has any: the same for any number of ranks.
    const nn::Randomness random{.seed = 1, .step = step, .first_sample = batch.first_sample};
    const at::Tensor loss = forward(*model, batch.inputs, batch.targets, models::Pass{random}) /
                            (batch.global_samples * kContext);
    loss.backward();
    state.clip_gradients(1.0);
    optimizer.step();
    const at::Tensor mean = loss.detach();
    world.all_reduce(mean).wait();
    if (world.rank() == 0 && step % 20 == 0) {
      std::cout << "step " << step << ": loss " << mean.item<float>() << std::endl;
    }
  }
  // Every rank takes part in every forward pass, and all draw the same letters.
  const auto letters = models::generate(
      *model, text.tokenizer->encode("KING"), {.max_new_tokens = 60, .temperature = 0.7});
  if (world.rank() == 0) std::cout << "KING" << text.tokenizer->decode(letters) << std::endl;
}

}  // namespace

int main(int argc, char** argv) { return launch::run_main(argc, argv, train); }
