#pragma once

#include <string>
#include <vector>

#include "sheaf/sharding/shard.h"
#include "support/tiny_models.h"

namespace sheaf::testing {

/// How a tiny model is trained.
struct Course {
  int steps = 20;
  std::int64_t global_batch = 36;
  /// Passes per step; all but the last within no_sync(), unless `exchange_each` is set.
  int accumulation = 1;
  bool exchange_each = false;
  at::ScalarType dtype = at::kFloat;
  bool clip = false;
  /// Whether sheaf steps parameters within the last backward pass of a step.
  bool in_backward = false;
  at::Device device = at::kCPU;
};

/// All parameters and buffers by name, and the losses of the steps.
struct Outcome {
  sharding::NamedTensors values;
  std::vector<double> losses;
};

/// Returns the model's parameters, tied ones once: an optimizer would step them twice.
[[nodiscard]] std::vector<at::Tensor> distinct_parameters(const torch::nn::Module& model);

/// Trains without sheaf, in one piece, with torch's AdamW.
[[nodiscard]] Outcome train_alone(const Task& task, const Course& course);

/// Trains over the ranks of the options, with sheaf's AdamW; every rank calls it.
[[nodiscard]] Outcome train_sharded(const Task& task, const Course& course, ShardOptions options);

/// Throws unless all values are equal to the last bit.
void require_same_bits(const Outcome& actual, const Outcome& expected, const std::string& what);
/// Throws unless all values and losses agree within `tolerance` (absolute, values being near 1).
void require_close(const Outcome& actual,
                   const Outcome& expected,
                   double tolerance,
                   const std::string& what);

}  // namespace sheaf::testing
