#include "sheaf/plan/budget.h"

#include <fmt/format.h>

#include "sheaf/base/error.h"

namespace sheaf::plan {
namespace {

void require_positive(const char* what, double value) {
  if (value > 0) return;
  throw UsageError(fmt::format("{} must be above 0 to work out times, got {}", what, value));
}

}  // namespace

Bill bill_for(const Budget& budget) {
  require_positive("the peak of a device", budget.peak_flops);
  require_positive("MFU", budget.mfu);
  require_positive("the cost of a token", budget.flops_per_token);
  constexpr double kSecondsPerHour = 3600;
  Bill bill;
  bill.tokens_per_second = budget.devices * budget.peak_flops * budget.mfu / budget.flops_per_token;
  bill.time = Seconds(budget.tokens / bill.tokens_per_second);
  bill.cost = bill.time.count() / kSecondsPerHour * budget.devices * budget.price_per_hour;
  return bill;
}

}  // namespace sheaf::plan
