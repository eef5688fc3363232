#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "board.h"

namespace sheaf::comm {

/// What this rank writes on the board of one group's calls, and how they are held against those of
/// its peers.
///
/// Note [Who sees that ranks differ]: a rank first publishes the fingerprint of its call and then
/// reads those of its peers, both in one total order. So of any two ranks at least the later one
/// sees the other's, before it takes part: no exchange of different calls is ever completed among
/// ranks of one host, and the ranks that already wait are let go by the verdict on the board.
class GroupLog {
 public:
  GroupLog(Members members, const std::string& name, std::shared_ptr<Board> board);
  ~GroupLog();
  GroupLog(const GroupLog&) = delete;
  GroupLog& operator=(const GroupLog&) = delete;

  /// Notes that a call begins, and returns its number. Exchanges of a group come one at a time,
  /// messages at any time.
  std::uint64_t begin(CallRecord call);
  void end(std::uint64_t number, CallState state);

  /// Which peers a rank is held against: those of its host, which are seen at once, or all.
  enum class Range { near, all };
  /// Returns the sentence that says who called what, where a peer's exchanges up to and with the
  /// one that began last differ from this rank's.
  [[nodiscard]] std::optional<std::string> disagreement(Range range) const;
  /// Returns the members, as world ranks, that have not begun an exchange.
  [[nodiscard]] std::vector<int> not_begun(std::uint64_t exchange) const;

  [[nodiscard]] const Members& members() const { return members_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// The group's number: the same on all its ranks, another for every group.
  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] Board& board() const { return *board_; }

 private:
  [[nodiscard]] RankPage& own() const { return board_->rank(members_.world_rank()); }
  void take_page();
  void say_that_nothing_is_compared() const;
  [[nodiscard]] bool has_begun(const RankPage& peer, std::uint64_t exchange) const;
  [[nodiscard]] const GroupPage* page_of(std::size_t member) const;
  [[nodiscard]] bool differs(const GroupPage& peer, std::uint64_t exchange) const;
  [[nodiscard]] std::string describe_difference(std::uint64_t exchange) const;

  Members members_;
  std::string name_;
  std::uint64_t id_;
  std::shared_ptr<Board> board_;
  /// Null where this rank has too many groups; then nothing is compared.
  GroupPage* page_ = nullptr;
  /// Places of the peers in the group, those of this host first.
  std::vector<std::size_t> peers_;
  std::size_t num_near_ = 0;
  /// Where members have their pages, once they are found.
  mutable std::vector<std::atomic<const GroupPage*>> pages_;
  std::uint64_t begun_ = 0;
  std::uint64_t history_ = 0;
};

/// Writes "rank 1", "ranks 0 and 2" or "ranks 0, 1, 2 and 61 others".
[[nodiscard]] std::string list_of_ranks(const std::vector<int>& ranks);

}  // namespace sheaf::comm
