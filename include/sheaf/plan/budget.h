#pragma once

#include "sheaf/base/units.h"

namespace sheaf::plan {

/// What is to be trained on which devices.
struct Budget {
  double tokens = 0;
  double flops_per_token = 0;
  int devices = 1;
  /// FLOP/s of one device at best, and the part of it that training reaches.
  double peak_flops = 0;
  double mfu = 0.4;
  /// Of one device; 0: unknown.
  double price_per_hour = 0;
};

struct Bill {
  double tokens_per_second = 0;
  Seconds time{0};
  /// Of all devices together.
  double cost = 0;
};

/// Works out how long it takes and what it costs. Throws UsageError if a rate is not positive.
[[nodiscard]] Bill bill_for(const Budget& budget);

}  // namespace sheaf::plan
