#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "launch/council.h"
#include "launch/membership.h"
#include "launch/node_link.h"
#include "launch/ranks_file.h"
#include "launch/restart_policy.h"
#include "sheaf/base/units.h"

namespace sheaf::launch {

struct HostCouncilOptions {
  /// Tells this launcher from any other.
  std::string name;
  int nodes = 1;
  /// Ranks of this node, node 0.
  int ranks = 1;
  int min_ranks = 0;
  RestartOptions restarts;
  /// How long ranks may take to end when they are asked to.
  Seconds signal_grace{30};
};

/// Node 0's: decides for all; see Note [Generations].
class HostCouncil final : public Council {
 public:
  /// `link` is null on one node, `file` where there is none.
  HostCouncil(HostCouncilOptions options,
              std::unique_ptr<NodeLink> link,
              std::unique_ptr<RanksFile> file);

  void add_to(std::vector<pollfd>& entries) const override;
  void look() override;
  [[nodiscard]] bool has_deadlines() const override { return link_ != nullptr; }
  [[nodiscard]] const std::optional<Failure>& failure() const override { return failure_; }
  [[nodiscard]] bool wants_regroup() const override { return regroup_; }
  void report_failure(const Failure& failure) override;
  void report_end(const NodeEnd& end) override;
  [[nodiscard]] std::optional<Next> next() override;
  void leave(const Failure& why) override;
  [[nodiscard]] bool is_settled() override;

 private:
  using Clock = std::chrono::steady_clock;

  void look_at_file();
  void look_at_nodes();
  void look_at_values();
  void find_the_lost();
  void note(const Failure& failure);
  [[nodiscard]] Clock::time_point time_to_end() const;
  void consider_regroup();
  [[nodiscard]] bool lives(const NodeSlots& node) const;
  [[nodiscard]] bool all_ended() const;
  void decide();
  void go_on_after_failure(std::int64_t furthest);
  [[nodiscard]] std::optional<Next> begin();
  void conclude(Failure verdict);

  HostCouncilOptions options_;
  std::unique_ptr<NodeLink> link_;
  std::unique_ptr<RanksFile> file_;
  Membership members_;
  RestartPolicy policy_;
  NodeLink::News news_;

  Roster roster_;
  /// Of the generation that runs or has just ended.
  std::optional<Failure> failure_;
  bool regroup_ = false;
  std::map<int, NodeEnd> ends_;
  /// Until when the others may take to end, or to come.
  std::optional<Clock::time_point> limit_;
  bool is_gathering_ = true;
  std::optional<Failure> verdict_;
};

}  // namespace sheaf::launch
