#pragma once

#include <memory>
#include <optional>
#include <string>

#include "launch/council.h"
#include "launch/node_link.h"
#include "launch/ranks_file.h"

namespace sheaf::launch {

/// A node's that is not the first: does what node 0 says; see Note [Generations].
class MemberCouncil final : public Council {
 public:
  /// `name` is the one that the link has; `file` is null where there is none.
  MemberCouncil(int node,
                std::string name,
                std::unique_ptr<NodeLink> link,
                std::unique_ptr<RanksFile> file);

  void add_to(std::vector<pollfd>& entries) const override;
  void look() override;
  [[nodiscard]] bool has_deadlines() const override { return false; }
  [[nodiscard]] const std::optional<Failure>& failure() const override { return failure_; }
  [[nodiscard]] bool wants_regroup() const override { return regroup_; }
  void report_failure(const Failure& failure) override;
  void report_end(const NodeEnd& end) override;
  [[nodiscard]] std::optional<Next> next() override;
  void leave(const Failure& why) override;
  [[nodiscard]] bool is_settled() override;

 private:
  void watch();
  [[nodiscard]] std::optional<std::string> value(const std::string& key) const;

  int node_;
  std::string name_;
  std::unique_ptr<NodeLink> link_;
  std::unique_ptr<RanksFile> file_;
  NodeLink::News news_;

  /// The newest that node 0 has made, and the one whose ranks run or ran here.
  Roster newest_;
  int generation_ = -1;
  std::optional<Failure> failure_;
  bool regroup_ = false;
  std::optional<Failure> verdict_;
  bool has_given_up_ = false;
};

}  // namespace sheaf::launch
