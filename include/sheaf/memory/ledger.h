#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sheaf/base/memory_purpose.h"
#include "sheaf/base/units.h"

namespace sheaf::memory {

struct LedgerState;

/// Some bytes on a ledger; destroying it takes them off. One that was moved from holds none.
class Charge {
 public:
  Charge() = default;
  Charge(Charge&& other) noexcept;
  Charge& operator=(Charge&& other) noexcept;
  ~Charge();

  [[nodiscard]] Bytes bytes() const { return bytes_; }

 private:
  friend class Ledger;
  std::shared_ptr<LedgerState> state_;
  std::size_t entry_ = 0;
  Bytes bytes_;
};

/// What one owner holds for one purpose.
struct LedgerEntry {
  std::string owner;
  Purpose purpose = Purpose::parameters;
  Bytes current;
  Bytes peak;
};

/// Who holds which bytes. A cheap value: copies are the same ledger. Safe to use from many threads.
class Ledger {
 public:
  Ledger();

  /// Puts bytes on the ledger for as long as the returned charge lives, which may be longer than
  /// this handle. Throws UsageError if `bytes` is negative.
  [[nodiscard]] Charge charge(Purpose purpose, std::string_view owner, Bytes bytes);

  [[nodiscard]] Bytes current() const;
  [[nodiscard]] Bytes current(Purpose purpose) const;
  /// The most that was held at one moment since the start or reset_peaks(): in all, and for one
  /// purpose (the moments differ, so these do not add up).
  [[nodiscard]] Bytes peak() const;
  [[nodiscard]] Bytes peak(Purpose purpose) const;
  /// Returns a row per owner and purpose, in the order of first use.
  [[nodiscard]] std::vector<LedgerEntry> entries() const;
  /// Makes what is held now the peak.
  void reset_peaks();

 private:
  std::shared_ptr<LedgerState> state_;
};

}  // namespace sheaf::memory
