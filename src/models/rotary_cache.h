#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <mutex>
#include <vector>

#include "sheaf/nn/rotary.h"

namespace sheaf::models {

/// Keeps the cosines and sines of one model, made at their first use on a device and made longer
/// when a longer text comes. They are no parameters: nobody saves, cuts or converts them. Safe to
/// use from several threads.
class RotaryCache {
 public:
  /// `num_positions` of the options is the longest text there may be.
  explicit RotaryCache(const nn::RotaryOptions& options) : options_(options) {}

  /// Returns the table of the first `length` positions.
  [[nodiscard]] nn::RotaryTable table(std::int64_t length, at::Device device);

 private:
  nn::RotaryTable& at_least(std::int64_t length, at::Device device);

  nn::RotaryOptions options_;
  std::mutex mutex_;
  std::vector<nn::RotaryTable> by_device_;
};

}  // namespace sheaf::models
