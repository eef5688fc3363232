#pragma once

#include <torch/nn.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sheaf/comm/group.h"

namespace sheaf::testing {

/// A model that the tests train: parameters, and a loss that is summed over samples.
class TinyModel : public torch::nn::Module {
 public:
  /// Returns the sum of the samples' losses.
  virtual at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) = 0;
  at::Tensor forward(const at::Tensor& inputs, const at::Tensor& targets) {
    return loss(inputs, targets);
  }
};

struct Batch {
  at::Tensor inputs;
  at::Tensor targets;

  [[nodiscard]] std::int64_t size() const { return inputs.size(0); }
  [[nodiscard]] Batch part(std::int64_t index, std::int64_t count) const;
};

/// A kind of model and the data for it. Values depend on the seed alone.
struct Task {
  std::string name;
  /// The group is for layers that compute over all ranks.
  std::function<std::shared_ptr<TinyModel>(std::optional<comm::Group>)> build;
  std::function<Batch(std::int64_t step, std::int64_t size)> batch;
};

/// Three linear layers that are crossed by sheaf::forward.
[[nodiscard]] Task mlp_task();
/// A transformer of three blocks with tied embedding and head, crossed by sheaf::forward.
[[nodiscard]] Task gpt_task();
/// Convolutions and batch normalisation over the whole batch; crossed by sheaf::forward.
[[nodiscard]] Task cnn_task();
/// LibTorch's layers alone, called plainly.
[[nodiscard]] Task plain_task();
[[nodiscard]] std::vector<Task> all_tasks();

}  // namespace sheaf::testing
