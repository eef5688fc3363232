#pragma once

#include <ATen/ATen.h>

#include <atomic>
#include <stdexcept>
#include <utility>

#include "sheaf/data/dataset.h"

namespace sheaf::data::testing {

/// Samples that say which they are: input [i, i + 1], target i. One of them may be broken.
class Numbers final : public Dataset {
 public:
  explicit Numbers(std::int64_t size, std::int64_t broken = -1) : size_(size), broken_(broken) {}

  [[nodiscard]] std::int64_t size() const override { return size_; }
  [[nodiscard]] std::int64_t targets_per_sample() const override { return 1; }
  [[nodiscard]] Rows make_batch(std::int64_t count) const override {
    return {.inputs = at::empty({count, 2}, at::kLong), .targets = at::empty({count}, at::kLong)};
  }
  void fill(std::int64_t index, std::int64_t row, const Rows& rows) const override {
    if (index == broken_) throw std::runtime_error("sample is broken");
    rows.inputs.mutable_data_ptr<std::int64_t>()[2 * row] = index;
    rows.inputs.mutable_data_ptr<std::int64_t>()[2 * row + 1] = index + 1;
    rows.targets.mutable_data_ptr<std::int64_t>()[row] = index;
  }

 private:
  std::int64_t size_;
  std::int64_t broken_;
};

}  // namespace sheaf::data::testing
