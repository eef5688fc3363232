#include "run_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "clock_offset.h"
#include "comm/texts.h"
#include "sheaf/base/log.h"
#include "sheaf/profile/trace.h"

namespace sheaf::train {
namespace {

/// Some hundred steps of a small model, ten of a large one; of many ranks fewer, so that all of
/// them together are some megabytes.
std::size_t arrivals_of(const comm::Group& world) {
  constexpr int kOfAllRanks = 1 << 17;
  return static_cast<std::size_t>(std::clamp(kOfAllRanks / world.size(), 64, 4096));
}

template <class Visit>
void for_each_sort(const Visit& visit) {
  for (std::size_t k = 0; k < comm::kNumKinds; ++k) {
    for (std::size_t p = 0; p < comm::kNumPurposes; ++p) {
      visit(static_cast<comm::Kind>(k), static_cast<comm::Purpose>(p));
    }
  }
}

void add_to(comm::Traffic& sum, const comm::Traffic& step) {
  for_each_sort([&](comm::Kind kind, comm::Purpose purpose) {
    sum.at(kind, purpose) += step.of(kind, purpose);
  });
}

std::vector<profile::CollectiveUse> uses_in(const comm::Traffic& traffic) {
  std::vector<profile::CollectiveUse> uses;
  for_each_sort([&](comm::Kind kind, comm::Purpose purpose) {
    const comm::Tally& tally = traffic.of(kind, purpose);
    if (tally.calls == 0) return;
    uses.push_back({std::string(name(kind)),
                    std::string(name(purpose)),
                    {.calls = tally.calls, .bytes = tally.bytes}});
  });
  return uses;
}

/// A run of more ranks may have left traces there, which are not this run's.
void remove_traces_from(int rank, const std::filesystem::path& folder) {
  std::error_code ignored;
  while (std::filesystem::remove(folder / profile::trace_name(rank), ignored)) ++rank;
}

}  // namespace

RunProfile::RunProfile(const RunOptions& options, const comm::Group& world)
    : options_(options),
      world_(world),
      recorder_(world.recorder()),
      range_(recorded_steps(options.profile)),
      arrivals_(arrivals_of(world)) {
  recorder_.listen(options.profile.accounting || range_.has_value());
}

RunProfile::~RunProfile() { recorder_.listen(false); }

void RunProfile::resume_after(std::int64_t done) {
  if (!range_ || done < range_->last || world_.rank() != 0) return;
  log::warning("profile",
               fmt::format("no trace is recorded: the run goes on after step {}, so the steps of "
                           "profile.steps = {} are done",
                           done,
                           options_.profile.steps));
}

void RunProfile::before_step(std::int64_t step, bool is_behind) {
  if (!is_due(step)) return;
  // What came between two steps belongs to none of them.
  if (!is_behind) before_ = world_.traffic();
  if (recording_) return;
  recording_ = std::make_unique<profile::Recording>(options_.comm.device == comm::DeviceKind::cuda);
}

std::optional<profile::Account> RunProfile::account(std::int64_t step, const StepSpans& spans) {
  arrivals_.add(spans.spans);
  if (recording_ && is_due(step)) {
    const comm::Traffic now = world_.traffic();
    noted_.push_back({step, spans, now - before_});
    before_ = now;
  }
  if (!options_.profile.accounting) return std::nullopt;
  return profile::account(spans.spans, spans.window, recorder_);
}

void RunProfile::went_back_to(std::int64_t step) {
  std::erase_if(noted_, [&](const Noted& each) { return each.step > step; });
}

void RunProfile::after_step(std::int64_t step, bool run_ends) {
  if (recording_ && !noted_.empty() && (run_ends || step >= range_->last)) save();
}

profile::TraceNotes RunProfile::notes() const {
  profile::TraceNotes notes{
      .rank = world_.rank(), .ranks = world_.size(), .strategy = options_.shard.stage};
  comm::Traffic traffic;
  for (const Noted& each : noted_) {
    notes.steps.push_back({each.step, each.spans.window});
    notes.spans.insert(notes.spans.end(), each.spans.spans.begin(), each.spans.spans.end());
    add_to(traffic, each.traffic);
  }
  notes.traffic = uses_in(traffic);
  return notes;
}

void RunProfile::save() {
  profile::TraceNotes notes = this->notes();
  // Measured now, since clocks drift apart.
  const std::int64_t ahead = clock_offset(world_, own_clock());
  const std::string own = std::to_string(profile::wall_clock_offset() + ahead);
  const std::vector<std::string> clocks = comm::gather_texts(world_, own);
  notes.clock_shift = std::stoll(clocks.front()) - std::stoll(own);
  const std::filesystem::path folder = options_.log.dir;
  std::filesystem::create_directories(folder);
  recording_->save(folder / profile::trace_name(world_.rank()), notes, recorder_);
  recording_.reset();
  noted_.clear();
  range_.reset();
  world_.barrier().wait();
  if (world_.rank() != 0) return;
  remove_traces_from(world_.size(), folder);
  merge(clocks);
}

/// Ranks on other hosts may write to disks that rank 0 does not see; then it says so, and their
/// traces stay alone.
void RunProfile::merge(const std::vector<std::string>& clocks) const {
  const std::filesystem::path folder = options_.log.dir;
  std::vector<profile::TracePart> parts;
  for (int rank = 0; rank < world_.size(); ++rank) {
    const std::string path = folder / profile::trace_name(rank);
    if (!std::filesystem::exists(path)) {
      log::warning("profile", fmt::format("rank {} wrote its trace elsewhere: no {}", rank, path));
      continue;
    }
    const std::int64_t clock = std::stoll(clocks[static_cast<std::size_t>(rank)]);
    parts.push_back({path, rank, std::stoll(clocks.front()) - clock});
  }
  profile::merge_traces(parts, folder / profile::kMergedTrace);
}

RankComparison RunProfile::compare_ranks(const profile::StepTimes& times,
                                         std::int64_t steps) const {
  if (!options_.profile.accounting) return {};
  if (world_.size() == 1) return {.imbalance = {}, .times = {times}};
  const std::int64_t ahead = clock_offset(world_, own_clock());
  const profile::RankReport own{
      .steps = steps, .times = times, .arrivals = arrivals_.arrivals(recorder_, ahead)};
  std::vector<profile::RankReport> reports;
  RankComparison comparison;
  for (const std::string& text : comm::gather_texts(world_, to_text(own))) {
    reports.push_back(profile::parse_report(text));
    comparison.times.push_back(reports.back().times);
  }
  comparison.imbalance = profile::find_imbalance(reports);
  return comparison;
}

}  // namespace sheaf::train
