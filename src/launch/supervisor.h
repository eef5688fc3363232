#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "launch/council.h"
#include "launch/progress_board.h"
#include "launch/rank_output.h"
#include "launch/rank_process.h"
#include "launch/signal_inbox.h"
#include "sheaf/base/units.h"

namespace sheaf::launch {

/// One rank of this node.
struct Rank {
  int rank = 0;
  int slot = 0;
  RankProcess process;
  RankOutput output;
};

struct SupervisorOptions {
  Seconds failure_grace{3.0};
  Seconds signal_grace{30.0};
  int node_rank = 0;
};

/// What a supervisor works with; all of it must outlive it.
struct SupervisorParts {
  SignalInbox& inbox;
  Terminal& terminal;
  Council& council;
  const ProgressBoard& board;
};

/// How a generation ended on this node.
struct GenerationEnd {
  NodeEnd node{};
  /// What was logged as the reason; empty: nothing was.
  std::string told{};
};

/// Watches the ranks of this node in one generation until all have ended: carries their output,
/// forwards signals, and ends all of them when one fails, here or on another node, or when they
/// shall make way for another generation.
class Supervisor {
 public:
  Supervisor(SupervisorOptions options, SupervisorParts parts);

  /// Ranks are added in the order of the board's places.
  void add(Rank rank) { ranks_.push_back(std::move(rank)); }
  [[nodiscard]] GenerationEnd run();

 private:
  using Clock = std::chrono::steady_clock;

  enum class Phase {
    running,
    ending,  // told to end; until the deadline
    killed,  // gone as soon as the kernel says so
    over,
  };

  void wait();
  void advance();
  [[nodiscard]] Phase next_phase() const;
  void enter(Phase phase);
  void begin_ending();
  [[nodiscard]] GenerationEnd conclude();

  void on_signal(int signal);
  void find_exits();
  void on_exit(Rank& rank);
  void on_news();
  void on_terminal();
  void fail(Failure failure);

  void send_to_groups(int signal) const;
  [[nodiscard]] bool is_late() const;
  [[nodiscard]] bool all_exited() const;
  [[nodiscard]] bool any_output_flowing() const;
  [[nodiscard]] bool is_as_told(const RankExit& exit) const;
  [[nodiscard]] Failure failure_of(const Rank& rank) const;
  [[nodiscard]] int exit_code() const;

  SupervisorOptions options_;
  SupervisorParts parts_;
  std::list<Rank> ranks_;
  std::optional<std::int64_t> oom_kills_before_;

  // What has happened; advance() draws the conclusions.
  Phase phase_ = Phase::running;
  std::optional<Failure> failure_;
  std::string told_;
  int stop_signal_ = 0;
  /// The code of the first rank that ended as it was told.
  std::optional<int> told_code_;
  /// No generation may follow, although no signal was forwarded.
  bool stopped_ = false;
  bool regroup_ = false;
  /// A rank was told by somebody else to save and leave, and did; the others are about to.
  bool requeue_ = false;
  bool impatient_ = false;
  /// Whoever asked for the end while ranks were ended, because one failed, may start the job again.
  bool leaves_ = false;
  std::optional<Clock::time_point> deadline_;
};

}  // namespace sheaf::launch
