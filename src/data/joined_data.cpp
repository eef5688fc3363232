#include "data/joined_data.h"

#include <c10/util/Exception.h>

#include <utility>

namespace sheaf::data {

JoinedData::JoinedData(std::vector<std::shared_ptr<const Dataset>> datasets,
                       std::vector<double> weights)
    : datasets_(std::move(datasets)) {
  TORCH_INTERNAL_ASSERT(!datasets_.empty());
  TORCH_INTERNAL_ASSERT(weights.empty() || weights.size() == datasets_.size());
  for (std::size_t i = 0; i < datasets_.size(); ++i) {
    const std::int64_t size = datasets_[i]->size();
    parts_.push_back(
        {.size = size, .weight = weights.empty() ? static_cast<double>(size) : weights[i]});
    size_ += size;
  }
}

void JoinedData::fill(std::int64_t index, std::int64_t row, const Rows& rows) const {
  TORCH_INTERNAL_ASSERT(index >= 0 && index < size_);
  std::size_t dataset = 0;
  for (; index >= parts_[dataset].size; ++dataset) index -= parts_[dataset].size;
  datasets_[dataset]->fill(index, row, rows);
}

}  // namespace sheaf::data
