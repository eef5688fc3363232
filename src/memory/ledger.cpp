#include "sheaf/memory/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "sheaf/base/error.h"

namespace sheaf::memory {
namespace {

struct Amount {
  Bytes current;
  Bytes peak;
};

/// Works on an Amount and on a LedgerEntry; `count` is negative when bytes are given back.
void add(auto& amount, std::int64_t count) {
  amount.current.count += count;
  amount.peak.count = std::max(amount.peak.count, amount.current.count);
}

std::size_t index(Purpose purpose) { return static_cast<std::size_t>(purpose); }

}  // namespace

struct LedgerState {
  std::mutex mutex;
  Amount total;
  std::array<Amount, kNumPurposes> purposes;
  std::vector<LedgerEntry> entries;

  // All below need the mutex.

  std::size_t find_or_make(Purpose purpose, std::string_view owner) {
    const auto found = std::find_if(entries.begin(), entries.end(), [&](const LedgerEntry& entry) {
      return entry.purpose == purpose && entry.owner == owner;
    });
    if (found != entries.end()) return static_cast<std::size_t>(found - entries.begin());
    entries.push_back({.owner = std::string(owner), .purpose = purpose, .current = {}, .peak = {}});
    return entries.size() - 1;
  }

  void change(std::size_t entry, std::int64_t count) {
    add(entries[entry], count);
    add(purposes[index(entries[entry].purpose)], count);
    add(total, count);
  }
};

Charge::Charge(Charge&& other) noexcept
    : state_(std::move(other.state_)),
      entry_(other.entry_),
      bytes_(std::exchange(other.bytes_, {})) {}

Charge& Charge::operator=(Charge&& other) noexcept {
  Charge taken(std::move(other));
  std::swap(state_, taken.state_);
  std::swap(entry_, taken.entry_);
  std::swap(bytes_, taken.bytes_);
  return *this;
}

Charge::~Charge() {
  if (state_ == nullptr) return;
  const std::lock_guard lock(state_->mutex);
  state_->change(entry_, -bytes_.count);
}

Ledger::Ledger() : state_(std::make_shared<LedgerState>()) {}

Charge Ledger::charge(Purpose purpose, std::string_view owner, Bytes bytes) {
  if (bytes.count < 0) {
    throw UsageError(fmt::format("'{}' cannot hold a negative number of bytes for {}: {}",
                                 owner,
                                 name(purpose),
                                 bytes.count));
  }
  Charge charge;
  const std::lock_guard lock(state_->mutex);
  charge.entry_ = state_->find_or_make(purpose, owner);
  state_->change(charge.entry_, bytes.count);
  charge.bytes_ = bytes;
  charge.state_ = state_;
  return charge;
}

Bytes Ledger::current() const {
  const std::lock_guard lock(state_->mutex);
  return state_->total.current;
}

Bytes Ledger::current(Purpose purpose) const {
  const std::lock_guard lock(state_->mutex);
  return state_->purposes[index(purpose)].current;
}

Bytes Ledger::peak() const {
  const std::lock_guard lock(state_->mutex);
  return state_->total.peak;
}

Bytes Ledger::peak(Purpose purpose) const {
  const std::lock_guard lock(state_->mutex);
  return state_->purposes[index(purpose)].peak;
}

std::vector<LedgerEntry> Ledger::entries() const {
  const std::lock_guard lock(state_->mutex);
  return state_->entries;
}

void Ledger::reset_peaks() {
  const std::lock_guard lock(state_->mutex);
  state_->total.peak = state_->total.current;
  for (Amount& amount : state_->purposes) amount.peak = amount.current;
  for (LedgerEntry& entry : state_->entries) entry.peak = entry.current;
}

}  // namespace sheaf::memory
