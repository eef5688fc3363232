#include "models/rotary_cache.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <bit>

namespace sheaf::models {

nn::RotaryTable RotaryCache::table(std::int64_t length, at::Device device) {
  const std::lock_guard lock(mutex_);
  const nn::RotaryTable& whole = at_least(length, device);
  return {.cosines = whole.cosines.narrow(0, 0, length), .sines = whole.sines.narrow(0, 0, length)};
}

nn::RotaryTable& RotaryCache::at_least(std::int64_t length, at::Device device) {
  const auto found = std::find_if(by_device_.begin(), by_device_.end(), [&](const auto& each) {
    return each.cosines.device() == device;
  });
  if (found != by_device_.end() && found->cosines.size(0) >= length) return *found;
  // The full context may be long, and generation comes with one token more each time.
  const auto rounded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(length)));
  nn::RotaryOptions options = options_;
  options.num_positions = std::min(rounded, options_.num_positions);
  // A later pass may train with what a pass without gradients has made.
  const c10::InferenceMode ordinary_tensors(false);
  const at::NoGradGuard no_grad;
  nn::RotaryTable made = nn::make_rotary_table(options, device);
  if (found == by_device_.end()) return by_device_.emplace_back(std::move(made));
  return *found = std::move(made);
}

}  // namespace sheaf::models
