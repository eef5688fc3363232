#pragma once

#include <chrono>
#include <list>
#include <optional>
#include <string>

#include "launch/node_link.h"
#include "launch/rank_output.h"
#include "launch/rank_process.h"
#include "launch/signal_inbox.h"
#include "sheaf/base/units.h"

namespace sheaf::launch {

/// One rank of this node.
struct Rank {
  int rank = 0;
  RankProcess process;
  RankOutput output;
};

struct SupervisorOptions {
  Seconds failure_grace{3.0};
  Seconds signal_grace{30.0};
  int nodes = 1;
  int node_rank = 0;
};

/// Watches the ranks of this node until all have ended: carries their output, forwards signals, and
/// ends all of them when one fails, here or on another node.
class Supervisor {
 public:
  /// What is passed by reference must outlive this.
  Supervisor(SupervisorOptions options, SignalInbox& inbox, Terminal& terminal);

  void add(Rank rank) { ranks_.push_back(std::move(rank)); }
  /// Returns the exit code of the job. `link` is null on one node.
  [[nodiscard]] int run(NodeLink* link);

 private:
  using Clock = std::chrono::steady_clock;

  enum class Phase {
    running,
    ending,     // told to end; until the deadline
    killed,     // gone as soon as the kernel says so
    reporting,  // no rank is left; the last output and the other nodes are
    over,
  };

  void wait();
  void advance();
  [[nodiscard]] Phase next_phase() const;
  void enter(Phase phase);
  void report();

  void on_signal(int signal);
  void on_exit(Rank& rank);
  void on_news();
  void on_terminal();
  void fail(Failure failure);

  void send_to_groups(int signal) const;
  [[nodiscard]] bool is_late() const;
  [[nodiscard]] bool all_exited() const;
  [[nodiscard]] bool any_output_flowing() const;
  [[nodiscard]] std::string describe(const Rank& rank) const;
  [[nodiscard]] int exit_code() const;

  SupervisorOptions options_;
  SignalInbox& inbox_;
  Terminal& terminal_;
  NodeLink* link_ = nullptr;
  std::list<Rank> ranks_;

  // What has happened; advance() draws the conclusions.
  Phase phase_ = Phase::running;
  std::optional<Failure> failure_;
  int stop_signal_ = 0;
  bool impatient_ = false;
  bool settled_ = true;
  std::optional<Clock::time_point> deadline_;
};

}  // namespace sheaf::launch
