#include "plan/walk.h"

#include <fmt/format.h>

#include <algorithm>

namespace sheaf::plan {

Walk::Walk(std::int64_t num_blocks) : activations_(static_cast<std::size_t>(num_blocks) + 1) {}

Held Walk::take(Purpose purpose, std::int64_t bytes) {
  const std::size_t place =
      block_ == kNoBlock ? activations_.size() - 1 : static_cast<std::size_t>(block_);
  change(purpose, place, bytes);
  return {this, [=](Walk* walk) { walk->change(purpose, place, -bytes); }};
}

void Walk::enter(const char* phase, int block) {
  phase_ = phase;
  block_ = block;
}

void Walk::change(Purpose purpose, std::size_t place, std::int64_t bytes) {
  current_[purpose].count += bytes;
  highest_[purpose] = std::max(highest_[purpose], current_[purpose]);
  if (purpose == Purpose::activations) activations_[place].count += bytes;
  total_ += bytes;
  if (total_ > peak_.total) note_peak();
}

void Walk::note_peak() {
  peak_.total = total_;
  peak_.purposes = current_;
  peak_.activations = activations_;
  peak_.moment = block_ == kNoBlock ? phase_ : fmt::format("{} of block {}", phase_, block_);
}

}  // namespace sheaf::plan
