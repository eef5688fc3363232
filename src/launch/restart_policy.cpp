#include "launch/restart_policy.h"

#include <string>

#include "sheaf/launch/launcher.h"

namespace sheaf::launch {
namespace {

// Of UsageError: what was asked cannot be, this time or the next.
constexpr int kWrongUsage = 2;

}  // namespace

std::optional<Failure> RestartPolicy::after(const Failure& failure, std::int64_t furthest) {
  note_progress(furthest);
  note_slot(failure);
  Failure end{.code = failure.code};
  if (failure.code == kWrongUsage || failure.code == kRequeueCode) return end;
  if (options_.max_restarts == 0) return end;
  if (options_.max_fruitless > 0 && fruitless_ >= options_.max_fruitless) {
    end.sentence = "gives up: the run died " + std::to_string(fruitless_) +
                   " times in a row without getting past step " + std::to_string(best_) +
                   "; look at the cause above (--max-fruitless)";
    return end;
  }
  if (restarts_ == options_.max_restarts) {
    end.sentence = "gives up: the run died again after " + std::to_string(restarts_) +
                   (restarts_ == 1 ? " restart" : " restarts") + ", all that --max-restarts allows";
    return end;
  }
  ++restarts_;
  return std::nullopt;
}

void RestartPolicy::note_progress(std::int64_t furthest) {
  if (furthest > best_) {
    best_ = furthest;
    // The generation that made the step is the first of those that do not get past it.
    fruitless_ = 1;
    deaths_of_slot_ = 0;
  } else if (best_ >= 0) {
    ++fruitless_;
  }
}

void RestartPolicy::note_slot(const Failure& failure) {
  const bool same = failure.node == last_.node && failure.slot == last_.slot;
  deaths_of_slot_ = failure.slot < 0 ? 0 : (same ? deaths_of_slot_ : 0) + 1;
  last_ = failure;
}

}  // namespace sheaf::launch
