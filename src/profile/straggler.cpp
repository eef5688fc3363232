#include "sheaf/profile/straggler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "sheaf/profile/intervals.h"

namespace sheaf::profile {
namespace {

using nlohmann::json;

// Ranks never come at the same moment: less than this part of a step is no straggler's doing.
constexpr double kWorthSaying = 0.02;
// On a busy machine now one rank is late and now another: a straggler is late far more than any.
constexpr double kFarMore = 2;

constexpr std::array kTimes = {&StepTimes::data_wait,
                               &StepTimes::forward,
                               &StepTimes::backward,
                               &StepTimes::exposed_communication,
                               &StepTimes::optimizer,
                               &StepTimes::idle,
                               &StepTimes::hidden_communication};

struct PhaseName {
  std::string_view name;
  Seconds StepTimes::*time;
};

// Where a rank can be slow by itself.
constexpr std::array kPhases = {PhaseName{"data", &StepTimes::data_wait},
                                PhaseName{"forward", &StepTimes::forward},
                                PhaseName{"backward", &StepTimes::backward},
                                PhaseName{"optimizer", &StepTimes::optimizer}};

/// One call as all ranks saw it.
struct Meeting {
  std::string what;
  std::vector<std::pair<std::int64_t, int>> arrivals;  // time, rank
};

/// Between two ranks, and without a number: nobody else comes to it.
bool is_message(const Span& span) { return span.what == "send" || span.what == "recv"; }

std::vector<Meeting> meetings_of(const std::vector<RankReport>& ranks) {
  std::map<std::string, Meeting> by_call;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const Arrival& arrival : ranks[rank].arrivals) {
      Meeting& meeting = by_call[arrival.call];
      meeting.what = arrival.what;
      meeting.arrivals.emplace_back(arrival.time, static_cast<int>(rank));
    }
  }
  std::vector<Meeting> meetings;
  for (auto& [call, meeting] : by_call) {
    if (meeting.arrivals.size() < 2) continue;
    std::ranges::sort(meeting.arrivals);
    meetings.push_back(std::move(meeting));
  }
  return meetings;
}

std::vector<Spread> spreads_of(const std::vector<Meeting>& meetings) {
  std::map<std::string, Spread> by_kind;
  std::map<std::string, std::map<int, int>> times_last;
  for (const Meeting& meeting : meetings) {
    const Seconds spread =
        std::chrono::nanoseconds(meeting.arrivals.back().first - meeting.arrivals.front().first);
    Spread& row = by_kind[meeting.what];
    row.what = meeting.what;
    ++row.calls;
    row.mean += spread;
    row.longest = std::max(row.longest, spread);
    ++times_last[meeting.what][meeting.arrivals.back().second];
  }
  std::vector<Spread> spreads;
  for (auto& [what, row] : by_kind) {
    row.mean /= static_cast<double>(row.calls);
    const auto& last = times_last[what];
    row.last_rank =
        std::ranges::max_element(last, {}, [](const auto& each) { return each.second; })->first;
    spreads.push_back(row);
  }
  std::ranges::sort(spreads, std::ranges::greater(), &Spread::mean);
  return spreads;
}

/// For how long the middle one of the others waited for each rank. Exchanges run beside each other,
/// so it counts the time and not the exchanges.
std::map<int, Seconds> lateness_of(const std::vector<Meeting>& meetings) {
  std::map<int, std::vector<Interval>> waits;
  for (const Meeting& meeting : meetings) {
    const auto [last, rank] = meeting.arrivals.back();
    const auto middle = meeting.arrivals[(meeting.arrivals.size() - 1) / 2].first;
    waits[rank].push_back({middle, last});
  }
  std::map<int, Seconds> lateness;
  for (auto& [rank, intervals] : waits) {
    lateness[rank] = std::chrono::nanoseconds(Intervals(std::move(intervals)).length());
  }
  return lateness;
}

/// How much longer per step `rank` takes for something than the middle one of the others.
template <class Time>
Seconds excess_of(const std::vector<RankReport>& ranks, int rank, const Time& time) {
  const auto per_step = [&](const RankReport& report) {
    return time(report.times) / static_cast<double>(std::max<std::int64_t>(report.steps, 1));
  };
  std::vector<Seconds> others;
  for (std::size_t other = 0; other < ranks.size(); ++other) {
    if (static_cast<int>(other) != rank) others.push_back(per_step(ranks[other]));
  }
  const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
  std::ranges::nth_element(others, middle);
  return per_step(ranks[static_cast<std::size_t>(rank)]) - *middle;
}

/// For which part of a step the others wait longer than `rank`.
double share_of(const std::vector<RankReport>& ranks, int rank) {
  const auto waiting = [](const StepTimes& times) {
    return times.exposed_communication + times.idle;
  };
  const RankReport& own = ranks[static_cast<std::size_t>(rank)];
  const Seconds step =
      own.times.total() / static_cast<double>(std::max<std::int64_t>(own.steps, 1));
  return step.count() > 0 ? -excess_of(ranks, rank, waiting) / step : 0;
}

/// Returns the rank that the others wait for far more than for any other, and for how long.
std::optional<std::pair<int, Seconds>> latest_of(const std::vector<Meeting>& meetings) {
  std::pair<int, Seconds> latest{0, Seconds(0)};
  Seconds next{0};
  for (const auto& [rank, lateness] : lateness_of(meetings)) {
    if (lateness > latest.second) {
      next = std::exchange(latest, {rank, lateness}).second;
    } else {
      next = std::max(next, lateness);
    }
  }
  if (latest.second <= kFarMore * next) return std::nullopt;
  return latest;
}

std::optional<Straggler> find_straggler(const std::vector<RankReport>& ranks,
                                        const std::vector<Meeting>& meetings) {
  if (meetings.empty()) return std::nullopt;
  const auto latest = latest_of(meetings);
  if (!latest) return std::nullopt;
  Straggler straggler{
      .rank = latest->first, .phase = {}, .excess = {}, .share = share_of(ranks, latest->first)};
  for (const PhaseName& phase : kPhases) {
    const auto time = [&](const StepTimes& times) { return times.*phase.time; };
    const Seconds excess = excess_of(ranks, straggler.rank, time);
    if (excess <= straggler.excess) continue;
    straggler.excess = excess;
    straggler.phase = phase.name;
  }
  if (straggler.share < kWorthSaying || straggler.phase.empty()) return std::nullopt;
  return straggler;
}

}  // namespace

void ArrivalLog::add(std::span<const Span> spans) {
  for (const Span& span : spans) {
    if (span.kind != SpanKind::collective || is_message(span)) continue;
    if (newest_.size() < most_) {
      newest_.push_back(span);
    } else {
      newest_[next_++ % most_] = span;
    }
  }
}

std::vector<Arrival> ArrivalLog::arrivals(const Recorder& recorder, std::int64_t offset) const {
  std::vector<Arrival> arrivals;
  for (const Span& span : newest_) {
    arrivals.push_back({.call = fmt::format("{} {}", recorder.name(span.group), span.call),
                        .what = fmt::format("{} {}", span.what, span.purpose),
                        .time = span.begin - offset});
  }
  return arrivals;
}

Imbalance find_imbalance(const std::vector<RankReport>& ranks) {
  const std::vector<Meeting> meetings = meetings_of(ranks);
  return {.spreads = spreads_of(meetings), .straggler = find_straggler(ranks, meetings)};
}

std::string to_text(const RankReport& report) {
  json times = json::array();
  for (const auto time : kTimes) times.push_back((report.times.*time).count());
  json arrivals = json::array();
  for (const Arrival& each : report.arrivals) {
    arrivals.push_back({each.call, each.what, each.time});
  }
  return json{{"steps", report.steps}, {"times", times}, {"arrivals", arrivals}}.dump();
}

RankReport parse_report(const std::string& text) {
  const json given = json::parse(text);
  RankReport report{.steps = given.at("steps"), .times = {}, .arrivals = {}};
  for (std::size_t i = 0; i < kTimes.size(); ++i) {
    report.times.*kTimes[i] = Seconds(given.at("times").at(i).get<double>());
  }
  for (const json& each : given.at("arrivals")) {
    report.arrivals.push_back({each.at(0), each.at(1), each.at(2)});
  }
  return report;
}

}  // namespace sheaf::profile
