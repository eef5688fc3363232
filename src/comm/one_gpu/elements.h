#pragma once

#include <ATen/core/Tensor.h>

#include "../backend.h"
#include "kernels.h"

namespace sheaf::comm::one_gpu {

/// Returns what kernels call the elements of a tensor that can be reduced.
[[nodiscard]] Element element_of(const at::Tensor& tensor);

[[nodiscard]] FoldRule rule_of(Reduce how, int num_ranks);

struct Share {
  std::int64_t begin;
  std::int64_t count;
};

/// Returns rank's share of `count` elements; all but the last are multiples of what threads read at
/// a time.
[[nodiscard]] Share share_of(std::int64_t count, int num_ranks, int rank);

/// Returns the size of one of `num_ranks` parts of `bytes`, such that all begin aligned.
[[nodiscard]] std::int64_t aligned_part(std::int64_t bytes, int num_ranks);

}  // namespace sheaf::comm::one_gpu
