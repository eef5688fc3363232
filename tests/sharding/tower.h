#pragma once

#include <gtest/gtest.h>
#include <torch/nn.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sheaf/nn/linear.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/sharding/shard.h"

namespace sheaf::testing {

struct TowerOptions {
  int blocks = 4;
  std::int64_t width = 16;
  /// Whether it has two buffers of fp32 and one of int64.
  bool buffers = false;
  /// Whether the root has a parameter that the loss does not depend on.
  bool idle = false;
  /// Whether blocks compute with sheaf's layer, which writes gradients where they belong, instead
  /// of with torch's, whose gradients are there twice for a moment.
  bool direct = false;
};

class TowerBlockImpl : public torch::nn::Module {
 public:
  explicit TowerBlockImpl(const TowerOptions& options)
      : linear(register_module("linear", torch::nn::Linear(options.width, options.width))),
        direct(options.direct) {}
  at::Tensor forward(const at::Tensor& x) {
    return at::tanh(direct ? nn::linear(x, linear->weight, linear->bias) : linear(x));
  }

  torch::nn::Linear linear;
  bool direct;
};
TORCH_MODULE(TowerBlock);

/// Equal blocks, "blocks.0" and so on, crossed by sheaf::forward, and small parameters of the
/// root's own before and after them. Values are the same in every tower.
class Tower : public torch::nn::Module {
 public:
  explicit Tower(const TowerOptions& options);

  /// Returns the sum of all outputs.
  at::Tensor forward(const at::Tensor& x);

  /// The order in which blocks run.
  std::vector<std::size_t> order;
  /// Is told when backward comes to the output of a block.
  std::function<void(std::size_t)> on_backward;

 private:
  at::Tensor first_;
  at::Tensor last_;
  torch::nn::ModuleList blocks_;
};

/// What happened on one rank, in order: "gather started blocks.1", "pass ended", and from the
/// model itself "backward came to blocks.1".
using Moments = std::vector<std::string>;

/// Tells whether `earlier` happened, and before the first `later` did, which happened too.
[[nodiscard]] ::testing::AssertionResult before(const Moments& moments,
                                                const std::string& earlier,
                                                const std::string& later);

/// How a stage is written: "zero1".
[[nodiscard]] std::string name_of(Stage stage);

/// A tower in training on one rank.
class Session {
 public:
  Session(const TowerOptions& tower, ShardOptions options);

  /// Runs forward and backward `passes` times, all but the last within no_sync(), and steps.
  void step(int passes = 1);
  void forward_and_backward();
  /// Runs forward alone, without gradients.
  void evaluate();
  void steps(int count);

  [[nodiscard]] Tower& model() { return *model_; }
  [[nodiscard]] const sharding::State& state() const { return state_; }
  /// Elements of all units, padding included.
  [[nodiscard]] std::int64_t num_elements() const;
  /// The same of one unit.
  [[nodiscard]] std::int64_t num_elements(const std::string& unit) const;
  /// Returns what has happened since the last call.
  [[nodiscard]] Moments take_moments() { return std::exchange(*moments_, {}); }

  /// Is called between backward and step.
  std::function<void()> before_step;

 private:
  std::shared_ptr<Moments> moments_;
  std::shared_ptr<Tower> model_;
  sharding::State state_;
  optim::AdamW optimizer_;
  at::Tensor input_;
};

}  // namespace sheaf::testing
