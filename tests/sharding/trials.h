#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sharding/strategies.h"
#include "support/tiny_models.h"

namespace sheaf::testing {

/// Samples of a trial: this many numbers each, and one of this many classes.
inline constexpr std::int64_t kFeatures = 6;
inline constexpr std::int64_t kClasses = 3;
/// Samples of a step: as many parts as a test has ranks, from one to four.
inline constexpr std::int64_t kSamples = 12;

using Pass = std::function<void(TinyModel& model, const Batch& batch)>;

/// Forward through sheaf::forward and backward; the loss is the mean over all ranks' samples.
void one_pass(TinyModel& model, const Batch& batch);
/// Returns the same loss without a backward pass.
[[nodiscard]] at::Tensor mean_loss(TinyModel& model, const Batch& batch);
[[nodiscard]] Batch random_batch(std::int64_t step);

/// A few steps of training that one rank and many ranks must take alike.
struct Trial {
  std::function<std::shared_ptr<TinyModel>()> build;
  /// What comes between two steps of the optimizer.
  Pass pass = one_pass;
  std::function<Batch(std::int64_t step)> batch = random_batch;
  int steps = 4;
  /// In fp64 only the order of sums differs.
  double tolerance = 1e-9;
};

/// Builds a model whose values depend on nothing; in fp64 unless `as_is`. Safe on many threads.
template <class Model>
std::shared_ptr<TinyModel> built(bool as_is = false) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  at::manual_seed(7);
  const auto model = std::make_shared<Model>();
  if (!as_is) model->to(at::kDouble);
  return model;
}

template <class Model>
Trial trial_of() {
  return {.build = [] { return built<Model>(); }};
}

/// Every stage, with both ways to wake parameters in zero3.
[[nodiscard]] std::vector<Strategy> stages();

/// Calls `body` on every rank for every stage.
void with_stages(int num_ranks, const std::function<void(ShardOptions, const std::string&)>& body);

[[nodiscard]] sharding::NamedTensors values_of(const torch::nn::Module& model);
void require_close(const sharding::NamedTensors& actual,
                   const sharding::NamedTensors& expected,
                   double tolerance,
                   const std::string& what);

[[nodiscard]] sharding::NamedTensors train_alone(const Trial& trial);
[[nodiscard]] sharding::NamedTensors train_sharded(const Trial& trial, const ShardOptions& options);
/// Fails the test unless every stage ends with the values of one rank.
void expect_same_as_alone(const Trial& trial, int num_ranks, bool find_unused = false);

}  // namespace sheaf::testing
