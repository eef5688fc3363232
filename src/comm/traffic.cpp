#include "sheaf/comm/traffic.h"

namespace sheaf::comm {
namespace {

constexpr std::array<std::string_view, kNumKinds> kKindNames = {"all_reduce",
                                                                "all_gather",
                                                                "reduce_scatter",
                                                                "broadcast",
                                                                "all_to_all",
                                                                "send",
                                                                "recv",
                                                                "barrier"};

constexpr std::array<std::string_view, kNumPurposes> kPurposeNames = {
    "other", "parameters", "gradients", "optimizer", "activations", "buffers", "loss", "control"};

std::size_t index(Kind kind, Purpose purpose) {
  return static_cast<std::size_t>(kind) * kNumPurposes + static_cast<std::size_t>(purpose);
}

}  // namespace

std::string_view name(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

std::string_view name(Purpose purpose) { return kPurposeNames[static_cast<std::size_t>(purpose)]; }

Tally& Tally::operator+=(const Tally& other) {
  calls += other.calls;
  bytes.count += other.bytes.count;
  waiting += other.waiting;
  return *this;
}

Tally& Tally::operator-=(const Tally& other) {
  calls -= other.calls;
  bytes.count -= other.bytes.count;
  waiting -= other.waiting;
  return *this;
}

const Tally& Traffic::of(Kind kind, Purpose purpose) const {
  return tallies_[index(kind, purpose)];
}

Tally Traffic::of(Kind kind) const {
  Tally sum;
  for (std::size_t p = 0; p < kNumPurposes; ++p) sum += of(kind, static_cast<Purpose>(p));
  return sum;
}

Tally Traffic::of(Purpose purpose) const {
  Tally sum;
  for (std::size_t k = 0; k < kNumKinds; ++k) sum += of(static_cast<Kind>(k), purpose);
  return sum;
}

Tally Traffic::total() const {
  Tally sum;
  for (const Tally& tally : tallies_) sum += tally;
  return sum;
}

Tally& Traffic::at(Kind kind, Purpose purpose) { return tallies_[index(kind, purpose)]; }

Traffic Traffic::operator-(const Traffic& earlier) const {
  Traffic difference = *this;
  for (std::size_t i = 0; i < tallies_.size(); ++i) difference.tallies_[i] -= earlier.tallies_[i];
  return difference;
}

}  // namespace sheaf::comm
