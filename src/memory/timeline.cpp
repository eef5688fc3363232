#include "sheaf/memory/timeline.h"

#include <algorithm>

namespace sheaf::memory {
namespace {

/// Goes through a timeline and keeps what is held.
class Replay {
 public:
  explicit Replay(const Timeline& timeline)
      : holders_(timeline.start), purposes_(by_purpose(timeline.start)) {}

  void apply(const Timeline::Event& event) {
    holders_[event.holder].bytes.count += event.change.count;
    purposes_[holders_[event.holder].purpose].count += event.change.count;
    total_changed_ += event.change.count;
  }
  /// How much more than at the start.
  [[nodiscard]] std::int64_t gained() const { return total_changed_; }
  [[nodiscard]] Moment moment(Seconds time) const {
    return {.time = time, .purposes = purposes_, .holders = {}};
  }
  [[nodiscard]] std::vector<Holder> holders() const {
    std::vector<Holder> some = holders_;
    std::erase_if(some, [](const Holder& holder) { return holder.bytes.count == 0; });
    return some;
  }

 private:
  std::vector<Holder> holders_;
  ByPurpose purposes_;
  std::int64_t total_changed_ = 0;
};

/// Returns how many events lead to the moment at which most is held.
std::size_t events_until_peak(const Timeline& timeline) {
  std::int64_t gained = 0;
  std::int64_t most = 0;
  std::size_t until = 0;
  for (std::size_t i = 0; i < timeline.events.size(); ++i) {
    gained += timeline.events[i].change.count;
    if (gained <= most) continue;
    most = gained;
    until = i + 1;
  }
  return until;
}

}  // namespace

ByPurpose by_purpose(const std::vector<Holder>& holders) {
  ByPurpose sums;
  for (const Holder& holder : holders) sums[holder.purpose].count += holder.bytes.count;
  return sums;
}

Moment peak_of(const Timeline& timeline) {
  Replay replay(timeline);
  const std::size_t until = events_until_peak(timeline);
  for (std::size_t i = 0; i < until; ++i) replay.apply(timeline.events[i]);
  Moment peak = replay.moment(until == 0 ? Seconds(0) : timeline.events[until - 1].time);
  peak.holders = replay.holders();
  return peak;
}

std::vector<Moment> sampled(const Timeline& timeline, std::size_t num_spans) {
  std::vector<Moment> moments;
  if (timeline.events.empty() || num_spans == 0) return moments;
  const Seconds span = timeline.events.back().time / static_cast<double>(num_spans);
  Replay replay(timeline);
  auto event = timeline.events.begin();
  for (std::size_t s = 1; s <= num_spans; ++s) {
    const bool is_last = s == num_spans;
    Moment highest = replay.moment(span * static_cast<double>(s - 1));
    std::int64_t most = replay.gained();
    for (; event != timeline.events.end(); ++event) {
      if (!is_last && event->time > span * static_cast<double>(s)) break;
      replay.apply(*event);
      if (replay.gained() <= most) continue;
      most = replay.gained();
      highest = replay.moment(event->time);
    }
    moments.push_back(std::move(highest));
  }
  return moments;
}

}  // namespace sheaf::memory
