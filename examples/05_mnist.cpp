// Trains a small network on handwritten digits with the trainer, as `sheaf train` does:
//   05_mnist .data/mnist --ranks 2        (./dev data mnist makes the files)
#include <iostream>
#include <string>

#include "sheaf/launch/run_main.h"
#include "sheaf/train/sinks.h"
#include "sheaf/train/trainer.h"

using namespace sheaf;

namespace {

void train_digits(const comm::Group& world, const std::string& folder) {
  train::RunOptions options;
  options.model.preset = "mnist-cnn";
  options.data.source = data::Source::mnist;
  options.data.path = folder;
  options.shard.stage = "zero3";
  options.optimizer = {
      .kind = train::OptimizerKind::adam, .learning_rate = 1e-3, .beta2 = 0.999, .weight_decay = 0};
  options.batch.global = 64;
  options.train.epochs = 2;

  train::set_up_process(options);
  train::Hooks hooks;
  hooks.sinks.push_back(train::console_sink(std::cout, {}));
  const train::Summary summary = train::run(options, world, hooks);
  if (world.rank() == 0 && summary.evaluation) {
    std::cout << "wrong: " << 100 * (1 - *summary.evaluation->accuracy) << " %" << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool named = argc > 1 && argv[1][0] != '-';
  const std::string folder = named ? argv[1] : ".data/mnist";
  return launch::run_main(
      argc, argv, [&](const comm::Group& world) { train_digits(world, folder); });
}
