#include <algorithm>
#include <utility>

#include "on_cuda.h"
#include "pending_sums.h"

namespace sheaf::nn {

void PendingSums::add(const PartsSum& sum, at::Tensor parts, module::Beside* beside) {
  // One kernel would add both to the same values.
  const auto is_same = [&](const PartsSum& other) { return other.target == sum.target; };
  if (beside != beside_ || std::ranges::any_of(sums_, is_same)) finish();
  beside_ = beside;
  sums_.push_back(sum);
  parts_.push_back(std::move(parts));
}

void PendingSums::finish() {
  if (sums_.empty()) return;
  const auto add_up = [&] {
    const Launch launch(parts_.front());
    launch_sums_of_parts(sums_, launch.stream());
  };
  beside_ != nullptr ? beside_->run(add_up, parts_) : add_up();
  sums_.clear();
  parts_.clear();
}

}  // namespace sheaf::nn
