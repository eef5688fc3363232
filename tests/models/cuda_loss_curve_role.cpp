#include <ATen/ATen.h>

#include "models/cuda_roles.h"
#include "sheaf/models/model.h"
#include "sheaf/module/forward.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/sharding/shard.h"
#include "support/on_ranks.h"
#include "support/safetensors.h"

namespace sheaf::testing {
namespace {

std::shared_ptr<models::Model> build_model(const TensorFile& start, bool fused) {
  const auto shape = [&](std::int64_t i) { return start.at("shape")[i].item<std::int64_t>(); };
  auto model = models::build({.preset = "gpt2-124m",
                              .layers = shape(0),
                              .width = shape(1),
                              .heads = shape(2),
                              .vocabulary = shape(3),
                              .context = shape(4),
                              .dropout = 0,
                              .attention_dropout = 0,
                              .fused = fused ? nn::Fused{} : nn::Fused::none()});
  const at::NoGradGuard no_grad;
  for (const auto& item : model->named_parameters()) {
    at::Tensor(item.value()).copy_(start.at(item.key()));
  }
  return model;
}

optim::AdamWOptions optimizer_options(const at::Tensor& settings) {
  const auto setting = [&](std::int64_t i) { return settings[i].item<double>(); };
  return {.learning_rate = setting(0),
          .beta1 = setting(1),
          .beta2 = setting(2),
          .epsilon = setting(3),
          .weight_decay = setting(4),
          .rules = {{.max_dims = 1, .weight_decay = 0.0}}};
}

}  // namespace

void loss_curve_role(const RoleContext& context) {
  const std::string folder = context.arguments.at("folder");
  const TensorFile start = read_safetensors(folder + "/start");
  const auto model = build_model(start, context.arguments.at("layers") == "fused");
  ShardOptions options{.group = context.world, .device = context.device, .stage = Stage::ddp};
  if (context.arguments.at("precision") == "bf16") {
    options.precision.compute = at::kBFloat16;
    options.precision.reduce = at::kBFloat16;
  }
  const sharding::State state = shard(*model, options);
  optim::AdamW optimizer(state.slots(), optimizer_options(start.at("settings")));
  const at::Tensor& factors = start.at("factors");
  std::vector<at::Tensor> losses;
  for (const at::Tensor& batch : start.at("batches").to(context.device).unbind()) {
    const std::int64_t length = batch.size(1) - 1;
    const at::Tensor targets = batch.narrow(1, 1, length).contiguous();
    const at::Tensor loss =
        sheaf::forward(*model, batch.narrow(1, 0, length).contiguous(), targets, models::Pass{}) /
        static_cast<double>(targets.numel());
    loss.backward();
    optimizer.step(factors[static_cast<std::int64_t>(losses.size())].item<double>());
    losses.push_back(loss.detach().to(at::kDouble));
  }
  write_safetensors(folder + "/losses", {{"losses", at::stack(losses)}});
}

}  // namespace sheaf::testing
