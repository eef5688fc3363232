#include "launch/supervisor.h"

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/signal_name.h"
#include "launch/environment.h"
#include "sheaf/base/log.h"

namespace sheaf::launch {
namespace {

using namespace std::chrono_literals;

// How long node 0 keeps the store up for nodes that have not reported their end.
constexpr auto kOtherNodesLimit = 300s;
// How long a job that failed waits for other nodes, and for whoever reads its last output.
constexpr auto kFailedLimit = 10s;

int poll_timeout_ms(std::chrono::steady_clock::duration left) {
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::clamp<std::int64_t>(milliseconds, 0, 60'000));
}

}  // namespace

Supervisor::Supervisor(SupervisorOptions options, SignalInbox& inbox, Terminal& terminal)
    : options_(options), inbox_(inbox), terminal_(terminal) {}

int Supervisor::run(NodeLink* link) {
  link_ = link;
  settled_ = link == nullptr;
  while (phase_ != Phase::over) {
    wait();
    for (const int signal : inbox_.take()) on_signal(signal);
    for (auto& rank : ranks_) rank.output.read();
    for (auto& rank : ranks_) {
      if (!rank.process.exit().has_value() && rank.process.poll_exit().has_value()) on_exit(rank);
    }
    on_news();
    on_terminal();
    advance();
  }
  return exit_code();
}

// Sleeps until something can be read, written or concluded.
void Supervisor::wait() {
  std::vector<pollfd> entries{{.fd = inbox_.fd(), .events = POLLIN, .revents = 0}};
  if (link_ != nullptr) entries.push_back({.fd = link_->fd(), .events = POLLIN, .revents = 0});
  for (const auto& rank : ranks_) {
    rank.output.add_to(entries);
    if (rank.process.exit().has_value()) continue;
    entries.push_back({.fd = rank.process.exit_fd(), .events = POLLIN, .revents = 0});
  }
  for (const auto* stream : {&terminal_.out, &terminal_.err}) {
    if (stream->is_empty()) continue;
    entries.push_back({.fd = stream->fd(), .events = POLLOUT, .revents = 0});
  }
  const int timeout_ms = deadline_.has_value() ? poll_timeout_ms(*deadline_ - Clock::now()) : -1;
  ::poll(entries.data(), entries.size(), timeout_ms);
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
  const bool output_left = !terminal_.out.is_empty() || !terminal_.err.is_empty();
  switch (phase_) {
    case Phase::running:
      if (stop_signal_ != 0 || failure_.has_value()) return Phase::ending;
      return ranks_left ? phase_ : Phase::reporting;
    case Phase::ending:
      return is_late() || (!ranks_left && !any_output_flowing()) ? Phase::killed : phase_;
    case Phase::killed:
      return ranks_left ? phase_ : Phase::reporting;
    case Phase::reporting:
      return is_late() || (!output_left && settled_) ? Phase::over : phase_;
    case Phase::over:
      break;
  }
  return phase_;
}

void Supervisor::enter(Phase phase) {
  if (phase == Phase::ending) {
    const bool is_told = stop_signal_ != 0;
    const Seconds grace = is_told ? options_.signal_grace : options_.failure_grace;
    deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(grace);
    send_to_groups(is_told ? stop_signal_ : SIGTERM);
  } else if (phase == Phase::killed) {
    // Also where all ranks are gone: what they have started is not to stay behind.
    deadline_.reset();
    send_to_groups(SIGKILL);
  } else if (phase == Phase::reporting) {
    impatient_ = false;
    for (auto& rank : ranks_) rank.output.drain();
    on_terminal();
    if (link_ != nullptr) report();
    if (exit_code() != 0) {
      deadline_ = Clock::now() + kFailedLimit;
    } else if (link_ != nullptr) {
      deadline_ = Clock::now() + kOtherNodesLimit;
    }
  } else if (phase == Phase::over && !settled_) {
    log::warning("launch", "goes without waiting for nodes that have not reported their end");
  }
}

// Tells the other nodes how this one ended.
void Supervisor::report() {
  const int code = exit_code();
  if (code != 0) {
    const auto node = "node " + std::to_string(options_.node_rank) + " (" + host_name() + ")";
    link_->report_failure(
        failure_.value_or(Failure{code, node + " was ended by " + signal_name(stop_signal_)}));
  }
  link_->report_end();
}

bool Supervisor::is_late() const {
  return impatient_ || (deadline_.has_value() && Clock::now() >= *deadline_);
}

void Supervisor::on_signal(int signal) {
  if (signal == SIGUSR1 || signal == SIGUSR2) {
    // Not to what a rank has started: without a handler these signals would end it.
    for (const auto& rank : ranks_) rank.process.send(signal);
  } else if (phase_ == Phase::running && stop_signal_ == 0) {
    stop_signal_ = signal;
    log::warning("launch", signal_name(signal) + " goes to all ranks; a second one kills them");
  } else {
    impatient_ = true;
  }
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
  if (failure_.has_value()) return;
  // By the signal itself, or by a program that caught it and left as a shell would say it.
  const bool as_told =
      stop_signal_ != 0 && (exit.signal == stop_signal_ || exit.code == 128 + stop_signal_);
  if (as_told) {
    failure_ = Failure{exit.code, describe(rank)};
  } else {
    fail({exit.code, describe(rank)});
  }
}

void Supervisor::on_news() {
  if (link_ == nullptr) return;
  const auto news = link_->take_news();
  settled_ = settled_ || news.settled;
  if (news.failure.has_value() && !failure_.has_value() && stop_signal_ == 0) fail(*news.failure);
}

void Supervisor::on_terminal() {
  terminal_.out.flush();
  terminal_.err.flush();
  const bool has_reader = terminal_.out.state() != OutputStream::State::broken;
  const bool is_ending = phase_ != Phase::running || stop_signal_ != 0 || failure_.has_value();
  if (!has_reader && !is_ending) {
    fail({128 + SIGPIPE, "nobody reads the standard output any more"});
  }
}

void Supervisor::fail(Failure failure) {
  log::error("launch", failure.sentence);
  failure_ = std::move(failure);
  if (link_ != nullptr && stop_signal_ == 0) link_->report_failure(*failure_);
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

std::string Supervisor::describe(const Rank& rank) const {
  const std::string host = options_.nodes > 1 ? " on " + host_name() : "";
  return "rank " + std::to_string(rank.rank) + " (pid " + std::to_string(rank.process.pid()) +
         host + ") " + rank.process.exit()->how;
}

int Supervisor::exit_code() const {
  if (failure_.has_value()) return failure_->code;
  return stop_signal_ != 0 ? 128 + stop_signal_ : 0;
}

}  // namespace sheaf::launch
