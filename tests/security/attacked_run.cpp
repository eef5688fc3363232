// A run that can be attacked for as long as it takes:
//
//   attacked_run --ranks 3 BACKEND FOLDER [SECONDS]
//
// Trains some steps, then keeps exchanging and checking numbers until FOLDER/go is there (it says
// that it does by FOLDER/ready), trains on in a second group made only then, and prints the loss of
// each step and what the weights are, bit for bit.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/nn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/checksum.h"
#include "sheaf/base/error.h"
#include "sheaf/base/log.h"
#include "sheaf/comm/init.h"
#include "sheaf/launch/start_ranks.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/sharding/shard.h"

namespace {

using namespace sheaf;

constexpr int kSteps = 20;
constexpr int kBatch = 8;

comm::BackendKind backend_of(std::string_view name) {
  for (const auto& [known, kind] : comm::enum_names(comm::BackendKind{})) {
    if (name == known) return kind;
  }
  throw UsageError(fmt::format("no such backend: {}", name));
}

void train(const comm::Group& group, torch::nn::Sequential& model) {
  const auto state = replicate(*model, {.group = group});
  optim::AdamW optimizer(state.slots(), {.learning_rate = 1e-2});
  for (int step = 0; step < kSteps; ++step) {
    const at::Tensor inputs = at::randn({kBatch, 16});
    const at::Tensor loss = (model->forward(inputs) - inputs.flip(1)).pow(2).sum();
    loss.backward();
    optimizer.step();
    const at::Tensor total = loss.detach().clone();
    group.all_reduce(total).wait();
    if (group.rank() == 0) std::cout << fmt::format("{:a}", total.item<double>()) << std::endl;
  }
}

// Exchanges numbers until `go` is there; a wrong one ends the run.
void hold(const comm::Group& world, const std::filesystem::path& folder) {
  if (world.rank() == 0) std::ofstream(folder / "ready") << "\n";
  for (;;) {
    const bool go = world.rank() == 0 && std::filesystem::exists(folder / "go");
    const at::Tensor numbers = at::full({1000}, static_cast<double>(world.rank() + 1));
    numbers[0] = go ? 1.0 : 0.0;
    world.all_reduce(numbers).wait();
    const double expected = world.size() * (world.size() + 1) / 2.0;
    if (!numbers.slice(0, 1).eq(expected).all().item<bool>()) throw Error("a sum is wrong");
    if (numbers[0].item<double>() != 0.0) return;
  }
}

std::uint64_t checksum_of_weights(const torch::nn::Sequential& model) {
  std::string bytes;
  for (const at::Tensor& weight : model->parameters()) {
    const at::Tensor whole = weight.detach().contiguous();
    bytes.append(static_cast<const char*>(whole.const_data_ptr()), whole.nbytes());
  }
  return checksum_of(std::string_view(bytes));
}

void run(const std::string& backend, const std::filesystem::path& folder, Seconds timeout) {
  const auto world = comm::init({.backend = backend_of(backend), .timeout = timeout});
  at::manual_seed(7);
  torch::nn::Sequential model(
      torch::nn::Linear(16, 64), torch::nn::Tanh(), torch::nn::Linear(64, 16));
  at::manual_seed(static_cast<std::uint64_t>(world.rank()));
  train(world, model);
  hold(world, folder);
  train(world.split(0), model);
  if (world.rank() == 0) std::cout << "weights " << checksum_of_weights(model) << std::endl;
}

}  // namespace

int main(int argc, char** argv) try {
  if (const auto exit_code = launch::start_ranks(argc, argv)) return *exit_code;
  if (argc < 3) throw UsageError("attacked_run --ranks N BACKEND FOLDER [SECONDS]");
  run(argv[1], argv[2], Seconds(argc > 3 ? std::atof(argv[3]) : 60.0));
  return 0;
} catch (const Error& error) {
  log::error("test", error.what());
  return error.exit_code();
}
