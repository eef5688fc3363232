#include "launch/supervisor.h"

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/signal_name.h"
#include "launch/environment.h"
#include "launch/oom_kills.h"
#include "launch/poll_timeout.h"
#include "sheaf/base/log.h"
#include "sheaf/launch/launcher.h"

namespace sheaf::launch {
namespace {

using namespace std::chrono_literals;

// How often the council looks at the clock.
constexpr auto kCouncilLooks = 250ms;

// The end of the sentence "rank 2 ... was killed by signal 9 (SIGKILL)": whether that was the
// kernel, for want of memory.
std::string reason_of_kill(const RankExit& exit, std::optional<std::int64_t> kills_before) {
  if (exit.signal != SIGKILL) return "";
  const auto kills = count_oom_kills();
  if (kills && kills_before) {
    return *kills > *kills_before ? " by the kernel's out-of-memory killer" : "";
  }
  return ", perhaps by the kernel's out-of-memory killer";
}

}  // namespace

Supervisor::Supervisor(SupervisorOptions options, SupervisorParts parts)
    : options_(options), parts_(parts), oom_kills_before_(count_oom_kills()) {}

GenerationEnd Supervisor::run() {
  while (phase_ != Phase::over) {
    wait();
    for (const int signal : parts_.inbox.take()) on_signal(signal);
    for (auto& rank : ranks_) rank.output.read();
    find_exits();
    on_news();
    on_terminal();
    advance();
  }
  return conclude();
}

// Sleeps until something can be read, written or concluded.
void Supervisor::wait() {
  std::vector<pollfd> entries{{.fd = parts_.inbox.fd(), .events = POLLIN, .revents = 0}};
  parts_.council.add_to(entries);
  for (const auto& rank : ranks_) {
    rank.output.add_to(entries);
    if (rank.process.exit().has_value()) continue;
    entries.push_back({.fd = rank.process.exit_fd(), .events = POLLIN, .revents = 0});
  }
  parts_.terminal.add_to(entries);
  std::optional<Clock::duration> left;
  if (deadline_) left = *deadline_ - Clock::now();
  if (parts_.council.has_deadlines())
    left = std::min<Clock::duration>(left.value_or(1h), kCouncilLooks);
  ::poll(entries.data(), entries.size(), poll_timeout_ms(left));
}

void Supervisor::advance() {
  // To the end: the next phase may have nothing to wait for either.
  for (auto next = next_phase(); next != phase_; next = next_phase()) {
    phase_ = next;
    enter(next);
  }
}

Supervisor::Phase Supervisor::next_phase() const {
  const bool ranks_left = !all_exited();
  switch (phase_) {
    case Phase::running:
      if (stop_signal_ != 0 || failure_ || regroup_ || requeue_) return Phase::ending;
      return ranks_left ? phase_ : Phase::over;
    case Phase::ending:
      return is_late() || (!ranks_left && !any_output_flowing()) ? Phase::killed : phase_;
    case Phase::killed:
      return ranks_left ? phase_ : Phase::over;
    case Phase::over:
      break;
  }
  return phase_;
}

void Supervisor::enter(Phase phase) {
  if (phase == Phase::ending) {
    begin_ending();
  } else if (phase == Phase::killed) {
    // Also where all ranks are gone: what they have started is not to stay behind.
    deadline_.reset();
    send_to_groups(SIGKILL);
  } else if (phase == Phase::over) {
    for (auto& rank : ranks_) rank.output.drain();
    on_terminal();
  }
}

void Supervisor::begin_ending() {
  // Ranks that are told to end have something to save; those that lost one of them have not.
  const Seconds grace = failure_ ? options_.failure_grace : options_.signal_grace;
  deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(grace);
  send_to_groups(stop_signal_ != 0 ? stop_signal_ : SIGTERM);
}

GenerationEnd Supervisor::conclude() {
  // What has come meanwhile is not for the ranks of the next generation, which cannot save yet.
  for (const int signal : parts_.inbox.take()) on_signal(signal);
  const int code = leaves_ ? kRequeueCode : exit_code();
  if (stop_signal_ != 0) {
    const auto node = "node " + std::to_string(options_.node_rank) + " (" + host_name() + ")";
    parts_.council.report_failure(failure_.value_or(
        Failure{.code = code, .sentence = node + " was ended by " + signal_name(stop_signal_)}));
  }
  const NodeEnd end{
      .code = code, .stopped = stopped_ || stop_signal_ != 0, .furthest = parts_.board.furthest()};
  parts_.council.report_end(end);
  return {.node = end, .told = told_};
}

bool Supervisor::is_late() const {
  return impatient_ || (deadline_.has_value() && Clock::now() >= *deadline_);
}

void Supervisor::on_signal(int signal) {
  const bool is_over_soon = phase_ != Phase::running && stop_signal_ == 0;
  if (is_over_soon && (signal == SIGTERM || signal == SIGUSR1)) leaves_ = failure_.has_value();
  if (signal == SIGUSR1 && is_over_soon) {
    // The ranks end anyway, and would not tell those of the next generation.
    stopped_ = true;
  } else if (signal == SIGUSR1 || signal == SIGUSR2) {
    // Not to what a rank has started: without a handler these signals would end it.
    for (const auto& rank : ranks_) rank.process.send(signal);
  } else if (stop_signal_ == 0 && (phase_ == Phase::running || regroup_ || requeue_)) {
    stop_signal_ = signal;
    log::warning("launch", signal_name(signal) + " goes to all ranks; a second one kills them");
    if (phase_ != Phase::running) send_to_groups(signal);
  } else {
    // Also where ranks are being ended because one failed: then nothing shall follow.
    stopped_ = true;
    impatient_ = true;
  }
}

// Of ranks that have ended since the last look, those that a signal ended come first: the others
// mostly ended because they lost them.
void Supervisor::find_exits() {
  std::vector<Rank*> ended;
  const auto look = [&] {
    for (auto& rank : ranks_) {
      if (!rank.process.exit().has_value() && rank.process.poll_exit().has_value()) {
        ended.push_back(&rank);
      }
    }
  };
  look();
  // Once more: one may have died just after its look, and one that is looked at later of its loss.
  if (!ended.empty()) look();
  std::stable_partition(ended.begin(), ended.end(), [](const Rank* rank) {
    return rank->process.exit()->signal != 0;
  });
  for (Rank* rank : ended) on_exit(*rank);
}

void Supervisor::on_exit(Rank& rank) {
  const RankExit& exit = *rank.process.exit();
  if (exit.code == 0) {
    // While ranks are told to end, their output is followed until all who write it have ended.
    if (phase_ == Phase::running) rank.output.drain();
    return;
  }
  rank.output.read();
  on_terminal();
  if (failure_) return;
  if (exit.code == kRequeueCode && exit.signal == 0) requeue_ = true;
  if (is_as_told(exit)) {
    // One that saved and asks to be started again speaks for those that were gone before.
    const bool asks = exit.code == kRequeueCode && exit.signal == 0;
    told_code_ = asks ? exit.code : told_code_.value_or(exit.code);
  } else {
    fail(failure_of(rank));
  }
}

// By the signal itself, or by a program that caught it and left as a shell would say it, or with
// the code that asks to be started again.
bool Supervisor::is_as_told(const RankExit& exit) const {
  const int told = stop_signal_ != 0 ? stop_signal_ : SIGTERM;
  const bool is_told = stop_signal_ != 0 || regroup_ || requeue_;
  return is_told && (exit.signal == told || exit.code == 128 + told || exit.code == kRequeueCode);
}

void Supervisor::on_news() {
  parts_.council.look();
  if (parts_.council.wants_regroup() && !failure_ && stop_signal_ == 0) regroup_ = true;
  if (parts_.council.failure() && !failure_ && stop_signal_ == 0) {
    log::error("launch", parts_.council.failure()->sentence);
    told_ = parts_.council.failure()->sentence;
    failure_ = parts_.council.failure();
  }
}

void Supervisor::on_terminal() {
  parts_.terminal.out.flush();
  parts_.terminal.err.flush();
  const bool has_reader = parts_.terminal.out.state() != OutputStream::State::broken;
  const bool is_ending = phase_ != Phase::running || stop_signal_ != 0 || failure_;
  if (!has_reader && !is_ending) {
    stopped_ = true;
    fail({.code = 128 + SIGPIPE, .sentence = "nobody reads the standard output any more"});
  }
}

void Supervisor::fail(Failure failure) {
  log::error("launch", failure.sentence);
  told_ = failure.sentence;
  failure_ = std::move(failure);
  if (stop_signal_ == 0) parts_.council.report_failure(*failure_);
}

void Supervisor::send_to_groups(int signal) const {
  for (const auto& rank : ranks_) rank.process.send_to_group(signal);
}

bool Supervisor::all_exited() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) {
    return rank.process.exit().has_value();
  });
}

bool Supervisor::any_output_flowing() const {
  return std::any_of(
      ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.output.is_flowing(); });
}

Failure Supervisor::failure_of(const Rank& rank) const {
  const RankExit& exit = *rank.process.exit();
  const auto index = std::distance(
      ranks_.begin(), std::find_if(ranks_.begin(), ranks_.end(), [&](const Rank& each) {
        return each.rank == rank.rank;
      }));
  const auto step = parts_.board.step(static_cast<int>(index));
  std::string sentence = "rank " + std::to_string(rank.rank) + " (pid " +
                         std::to_string(rank.process.pid()) + " on " + host_name() + ") " +
                         exit.how + reason_of_kill(exit, oom_kills_before_);
  if (step) sentence += " after step " + std::to_string(*step);
  return {.code = exit.code,
          .sentence = std::move(sentence),
          .node = options_.node_rank,
          .slot = rank.slot};
}

int Supervisor::exit_code() const {
  if (failure_) return failure_->code;
  if (told_code_) return *told_code_;
  return stop_signal_ != 0 ? 128 + stop_signal_ : 0;
}

}  // namespace sheaf::launch
