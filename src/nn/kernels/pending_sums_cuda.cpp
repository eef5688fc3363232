#include <algorithm>
#include <utility>

#include "on_cuda.h"
#include "pending_sums.h"

namespace sheaf::nn {

void PendingSums::add(const PartsSum& sum, at::Tensor parts) {
  // One kernel would add both to the same values.
  const auto is_same = [&](const PartsSum& other) { return other.target == sum.target; };
  if (std::ranges::any_of(sums_, is_same)) finish();
  sums_.push_back(sum);
  parts_.push_back(std::move(parts));
}

void PendingSums::finish() {
  if (sums_.empty()) return;
  const Launch launch(parts_.front());
  launch_sums_of_parts(sums_, launch.stream());
  sums_.clear();
  parts_.clear();
}

}  // namespace sheaf::nn
