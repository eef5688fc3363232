#include "visit_order.h"

namespace sheaf::sharding {
namespace {

// Passes that never end (only evaluation, never a backward pass) are learned up to here.
constexpr std::size_t kLongest = 4096;

}  // namespace

bool VisitOrder::visit(std::size_t unit) {
  if (visited_ > 0 && order_[visited_ - 1] == unit) return false;
  if (known_ && visited_ < order_.size() && order_[visited_] == unit) {
    ++visited_;
    return false;
  }
  if (known_ && order_.front() == unit) {  // a new pass, although the last had no end
    visited_ = 1;
    return false;
  }
  const bool surprised = known_;
  known_ = false;
  order_.resize(visited_);
  if (order_.size() >= kLongest) {
    end_pass();
    return surprised;
  }
  order_.push_back(unit);
  visited_ = order_.size();
  return surprised;
}

void VisitOrder::end_pass() {
  if (visited_ > 0) known_ = true;
  visited_ = 0;
}

std::optional<std::size_t> VisitOrder::next() const {
  if (!known_ || visited_ >= order_.size()) return std::nullopt;
  return order_[visited_];
}

std::optional<std::size_t> VisitOrder::first() const {
  if (!known_ || order_.empty()) return std::nullopt;
  return order_.front();
}

}  // namespace sheaf::sharding
