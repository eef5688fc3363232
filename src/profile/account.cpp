#include "sheaf/profile/account.h"

#include <algorithm>
#include <map>
#include <optional>

#include "nanoseconds.h"

namespace sheaf::profile {
namespace {

Interval clipped(const Span& span, const Interval& window) {
  return {std::max(span.begin, window.begin), std::min(span.end, window.end)};
}

bool is_phase(SpanKind kind) { return kind <= SpanKind::optimizer; }

/// Returns the stream that computes; unset where the host does, or nothing was recorded.
std::optional<std::int64_t> compute_stream(std::span<const Span> spans) {
  for (const Span& span : spans) {
    if (is_phase(span.kind) && span.stream != kHostStream) return span.stream;
  }
  return std::nullopt;
}

/// What the spans of a step cover, by what they are.
struct Cover {
  Intervals waits;
  Intervals communication;
  /// Of the phases, without waits.
  std::map<SpanKind, Intervals> phases;
};

Cover cover(std::span<const Span> spans, const Interval& window) {
  std::map<SpanKind, std::vector<Interval>> by_kind;
  std::vector<Interval> waits_elsewhere;
  const auto stream = compute_stream(spans);
  for (const Span& span : spans) {
    const Interval part = clipped(span, window);
    // Device and host do not have quite the same clock.
    if (part.length() <= 0) continue;
    const bool elsewhere = stream && span.stream != kHostStream && span.stream != *stream;
    if (span.kind == SpanKind::wait && elsewhere) {
      waits_elsewhere.push_back(part);
      continue;
    }
    by_kind[span.kind].push_back(part);
    // An exchange in the very stream that computes holds it up from beginning to end.
    const bool in_line = span.kind == SpanKind::collective && stream && span.stream == *stream;
    if (in_line) by_kind[SpanKind::wait].push_back(part);
  }
  // Steps of the optimizer that run beside backward wait for exchanges in a stream of their own,
  // and once backward is over the computation waits for them.
  const Intervals held_up =
      Intervals(std::move(waits_elsewhere)) & Intervals(by_kind[SpanKind::optimizer]);
  Cover result{.waits = Intervals(by_kind[SpanKind::wait]) | held_up,
               .communication = Intervals(by_kind[SpanKind::collective]),
               .phases = {}};
  for (auto& [kind, intervals] : by_kind) {
    if (is_phase(kind)) result.phases[kind] = Intervals(std::move(intervals)) - result.waits;
  }
  return result;
}

StepTimes times_of(Cover& cover, const Interval& window) {
  Intervals computing;
  for (const auto& [kind, intervals] : cover.phases) {
    if (kind != SpanKind::data) computing = computing | intervals;
  }
  const std::int64_t hidden = (cover.communication & computing).length();
  const std::int64_t exposed = cover.communication.length() - hidden;
  // Who waits for data computes nothing, so an exchange meanwhile is not hidden, and counts once.
  const Intervals data = cover.phases[SpanKind::data] - cover.communication;
  const Intervals busy = computing | data;
  const auto phase = [&](SpanKind kind) { return seconds(cover.phases[kind].length()); };
  return {.data_wait = seconds(data.length()),
          .forward = phase(SpanKind::forward),
          .backward = phase(SpanKind::backward),
          .exposed_communication = seconds(exposed),
          .optimizer = phase(SpanKind::optimizer),
          .idle = seconds(window.length() - busy.length() - exposed),
          .hidden_communication = seconds(hidden)};
}

template <class Row, class... Names>
Row& find_or_make(std::vector<Row>& rows, const auto& is_it, Names&&... names) {
  const auto found = std::ranges::find_if(rows, is_it);
  if (found != rows.end()) return *found;
  rows.push_back(Row{std::string(names)..., {}});
  return rows.back();
}

UnitUse& unit_row(Account& account, std::string_view unit) {
  return find_or_make(
      account.units, [&](const UnitUse& row) { return row.unit == unit; }, unit);
}

/// Adds the time of each unit, without the units inside of it and without waiting.
void add_units(Account& account,
               std::vector<Span> spans,
               const Intervals& waits,
               const Recorder& recorder) {
  // A unit comes before those inside of it.
  std::ranges::sort(spans, [](const Span& a, const Span& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::vector<std::vector<Interval>> inside(spans.size());
  std::vector<std::size_t> around;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    while (!around.empty() && spans[around.back()].end <= spans[i].begin) around.pop_back();
    if (!around.empty()) inside[around.back()].push_back({spans[i].begin, spans[i].end});
    around.push_back(i);
  }
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Intervals own = Intervals({{spans[i].begin, spans[i].end}}) -
                          Intervals(std::move(inside[i])) -
                          waits.within({spans[i].begin, spans[i].end});
    UnitUse& row = unit_row(account, recorder.name(spans[i].unit));
    const bool forward = spans[i].kind == SpanKind::unit_forward;
    (forward ? row.forward : row.backward) += seconds(own.length());
  }
}

void add_collective(Account& account, const Span& span, const Recorder& recorder) {
  const Exchanged one{.calls = 1, .bytes = {span.bytes}, .time = seconds(span.end - span.begin)};
  exchanged_in(account.collectives, span.what, span.purpose) += one;
  if (span.unit == 0) return;
  UnitUse& unit = unit_row(account, recorder.name(span.unit));
  (span.purpose == "gradients" ? unit.reduces : unit.gathers) += one;
}

}  // namespace

Exchanged& exchanged_in(std::vector<CollectiveUse>& rows,
                        std::string_view collective,
                        std::string_view purpose) {
  const auto is_it = [&](const CollectiveUse& row) {
    return row.collective == collective && row.purpose == purpose;
  };
  return find_or_make(rows, is_it, collective, purpose).exchanged;
}

Exchanged& Exchanged::operator+=(const Exchanged& other) {
  calls += other.calls;
  bytes.count += other.bytes.count;
  time += other.time;
  return *this;
}

Account& Account::operator+=(const Account& other) {
  times += other.times;
  for (const CollectiveUse& row : other.collectives) {
    exchanged_in(collectives, row.collective, row.purpose) += row.exchanged;
  }
  for (const UnitUse& row : other.units) {
    UnitUse& own = unit_row(*this, row.unit);
    own.forward += row.forward;
    own.backward += row.backward;
    own.gathers += row.gathers;
    own.reduces += row.reduces;
  }
  return *this;
}

Account account(std::span<const Span> spans, const Interval& window, const Recorder& recorder) {
  Account result;
  Cover covered = cover(spans, window);
  result.times = times_of(covered, window);
  std::vector<Span> forward;
  std::vector<Span> backward;
  for (const Span& span : spans) {
    if (span.kind == SpanKind::collective) add_collective(result, span, recorder);
    if (span.kind == SpanKind::unit_forward) forward.push_back(span);
    if (span.kind == SpanKind::unit_backward) backward.push_back(span);
  }
  add_units(result, std::move(forward), covered.waits, recorder);
  add_units(result, std::move(backward), covered.waits, recorder);
  return result;
}

}  // namespace sheaf::profile
