#pragma once

#include <cstdint>
#include <memory>

#include "sheaf/comm/group.h"
#include "sheaf/data/dataset.h"
#include "sheaf/models/model.h"
#include "sheaf/train/record.h"

namespace sheaf::train {

struct EvaluateOptions {
  /// Samples that one rank computes at a time.
  std::int64_t micro_batch = 1;
  /// Samples in all; 0: every one of the dataset.
  std::int64_t samples = 0;
  /// Whether inputs are classified, so that there is an accuracy.
  bool classify = false;
  at::Device device = at::kCPU;
};

/// Computes the mean loss over a dataset, each sample once, with the model's dropout off. The sums
/// are reduced over the ranks in fp64. Every rank must call it.
[[nodiscard]] EvaluationRecord evaluate(models::Model& model,
                                        const std::shared_ptr<const data::Dataset>& dataset,
                                        const comm::Group& group,
                                        const EvaluateOptions& options);

}  // namespace sheaf::train
