#include "train/numbers_guard.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "sheaf/base/log.h"

namespace sheaf::train {
namespace {

constexpr std::string_view kArea = "fault";

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::string made_by(const std::set<int>& ranks) {
  if (ranks.empty()) return "";
  return fmt::format(" on {} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

}  // namespace

NumbersGuard::NumbersGuard(const RunOptions& options, sharding::State state, bool speaks)
    : section_(options.fault),
      learning_rate_(options.optimizer.learning_rate),
      state_(std::move(state)),
      speaks_(speaks) {}

bool NumbersGuard::approve(const StepNumbers& numbers) {
  if (!std::isfinite(numbers.loss)) {
    return decide(section_.nonfinite,
                  numbers,
                  fmt::format("the loss of step {} is {}, with learning rate {:.3g}{}: a lower "
                              "rate, a longer warm-up or clipping may help",
                              numbers.step,
                              numbers.loss,
                              learning_rate_ * numbers.learning_rate_factor,
                              name_parameters()));
  }
  if (!numbers.finite_gradients) {
    return decide(section_.nonfinite,
                  numbers,
                  fmt::format("the gradients of step {} are not finite{}: a lower learning rate or "
                              "a longer warm-up may help",
                              numbers.step,
                              name_parameters()));
  }
  if (std::string spike = find_spike(numbers); !spike.empty()) {
    return decide(section_.spike, numbers, std::move(spike));
  }
  remember(numbers);
  return true;
}

void NumbersGuard::went_back_to(std::int64_t step) {
  std::erase_if(losses_, [&](const Loss& loss) { return loss.step > step; });
  skipped_in_a_row_ = 0;
}

/// One exchange; the names are the same on all ranks of a sharded group.
std::string NumbersGuard::name_parameters() const {
  const std::vector<sharding::NonFinite> found = state_.non_finite_gradients();
  if (found.empty()) return "";
  std::set<std::string> names;
  std::set<int> ranks;
  for (const sharding::NonFinite& each : found) {
    names.insert(each.parameter);
    if (each.made_there) ranks.insert(each.rank);
  }
  return fmt::format(
      ", the gradient of {} is not finite{}{}",
      found.front().parameter,
      made_by(ranks),
      names.size() > 1 ? fmt::format(", nor those of {} more", names.size() - 1) : "");
}

std::string NumbersGuard::find_spike(const StepNumbers& numbers) const {
  const auto enough = static_cast<std::size_t>(std::min<std::int64_t>(section_.spike_window, 5));
  if (section_.spike_factor == 0 || losses_.size() < enough) return "";
  std::vector<double> values;
  for (const Loss& loss : losses_) values.push_back(loss.value);
  const double usual = median_of(std::move(values));
  if (numbers.loss <= section_.spike_factor * usual) return "";
  return fmt::format(
      "the loss of step {} is {:.4g}, more than {:g} times {:.4g}, the median of the {} before it",
      numbers.step,
      numbers.loss,
      section_.spike_factor,
      usual,
      losses_.size());
}

bool NumbersGuard::decide(OnBadNumbers policy, const StepNumbers& numbers, std::string problem) {
  if (policy == OnBadNumbers::stop) throw Diverged(problem);
  // A step that goes wrong again after the run went back for it would do so for ever.
  const bool is_new =
      policy == OnBadNumbers::rollback && gone_back_for_.insert(numbers.step).second;
  if (is_new) throw RollBack(problem);
  return skip(problem);
}

bool NumbersGuard::skip(const std::string& problem) {
  if (++skipped_in_a_row_ > section_.max_skips) {
    throw Diverged(fmt::format(
        "{}; {} steps in a row have been left out before it", problem, section_.max_skips));
  }
  if (speaks_) log::warning(kArea, "this step is left out: " + problem);
  state_.zero_gradients();
  return false;
}

void NumbersGuard::remember(const StepNumbers& numbers) {
  skipped_in_a_row_ = 0;
  losses_.push_back({numbers.step, numbers.loss});
  if (losses_.size() > static_cast<std::size_t>(section_.spike_window)) losses_.pop_front();
}

}  // namespace sheaf::train
