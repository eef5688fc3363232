#pragma once

#include <memory>
#include <vector>

#include "sheaf/data/dataset.h"

namespace sheaf::data {

/// Several datasets as one: the samples of the first, then those of the next, and so on.
class JoinedData final : public Dataset {
 public:
  /// One dataset at least, whose samples have the same shape; a weight for each, or none: then each
  /// is drawn from by its size.
  JoinedData(std::vector<std::shared_ptr<const Dataset>> datasets, std::vector<double> weights);

  [[nodiscard]] std::int64_t size() const override { return size_; }
  [[nodiscard]] std::vector<DataPart> parts() const override { return parts_; }
  [[nodiscard]] std::int64_t targets_per_sample() const override {
    return datasets_.front()->targets_per_sample();
  }
  [[nodiscard]] Rows make_batch(std::int64_t count) const override {
    return datasets_.front()->make_batch(count);
  }
  void fill(std::int64_t index, std::int64_t row, const Rows& rows) const override;

 private:
  std::vector<std::shared_ptr<const Dataset>> datasets_;
  std::vector<DataPart> parts_;
  std::int64_t size_ = 0;
};

}  // namespace sheaf::data
