// A rank of sheaf that trains what pytorch_peer.py trains: pytorch_ranks STAGE START RESULT.
#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pytorch_gpt.h"
#include "sheaf/base/error.h"
#include "sheaf/launch/run_main.h"
#include "sheaf/module/forward.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/sharding/shard.h"
#include "support/safetensors.h"

namespace sheaf {
namespace {

const std::map<std::string, Stage> kStages{
    {"ddp", Stage::ddp}, {"zero1", Stage::zero1}, {"zero2", Stage::zero2}, {"zero3", Stage::zero3}};

ShardOptions options_of(const std::string& stage, const comm::Group& world) {
  const auto found = kStages.find(stage);
  if (found == kStages.end()) throw UsageError("the stage must be ddp, zero1, zero2 or zero3");
  // Buckets are small enough that the model has several.
  return {.group = world,
          .stage = found->second,
          .buckets = {.cap = {20 << 10}, .first_cap = {5 << 10}}};
}

at::Tensor share(const at::Tensor& batch, const comm::Group& world) {
  const std::int64_t each = batch.size(0) / world.size();
  return batch.narrow(0, world.rank() * each, each);
}

// Returns the mean loss of every step. The engine sums over ranks, so each rank divides by all
// tokens; PyTorch's ranks divide by their own and are averaged.
at::Tensor train(testing::PytorchGpt& model,
                 const sharding::State& state,
                 const at::Tensor& text,
                 const comm::Group& world) {
  // So large an epsilon that gradients of another size, which Adam hides otherwise, are seen.
  optim::AdamW optimizer(state.slots(),
                         {.learning_rate = 1e-2, .epsilon = 1e-4, .weight_decay = 0.1});
  const at::Tensor losses = at::zeros({text.size(0)}, at::kDouble);
  const auto tokens = static_cast<double>(text.size(1) * testing::PytorchGpt::kContext);
  for (std::int64_t step = 0; step < text.size(0); ++step) {
    const at::Tensor loss = sheaf::forward(model, share(text[step], world)) / tokens;
    loss.backward();
    optimizer.step();
    losses[step] = loss.detach();
  }
  world.all_reduce(losses).wait();
  return losses;
}

void run(const std::vector<std::string>& arguments, const comm::Group& world) {
  if (arguments.size() != 4) throw UsageError("usage: pytorch_ranks STAGE START RESULT");
  testing::TensorFile start = testing::read_safetensors(arguments[2]);
  const at::Tensor text = start.at("text");
  start.erase("text");
  testing::PytorchGpt model;
  const sharding::State state = shard(model, options_of(arguments[1], world));
  state.load_full(start);
  const at::Tensor losses = train(model, state, text, world);
  testing::TensorFile result = state.gather_full(/*everywhere=*/false);
  result["losses"] = losses;
  if (world.rank() == 0) testing::write_safetensors(arguments[3], result);
}

}  // namespace
}  // namespace sheaf

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  return sheaf::launch::run_main(
      argc, argv, [&](const sheaf::comm::Group& world) { sheaf::run(arguments, world); });
}
