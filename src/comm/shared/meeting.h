#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../backend.h"
#include "../peers.h"
#include "arena.h"
#include "sheaf/base/units.h"

namespace sheaf::comm::shared {

/// How the ranks of one group wait for each other: they sleep, and they notice when a peer has
/// ended, has left the group or does not come in time.
class Meeting {
 public:
  Meeting(Arena arena, Members members, std::shared_ptr<const Peers> peers, Seconds timeout);

  /// Blocks until every member has arrived. Throws CommError that names who is missing or ended.
  void arrive(Kind kind);
  /// Blocks until `word` no longer holds `seen`, a change that only member `peer` makes.
  void wait_for_peer(FutexWord& word, std::uint32_t seen, Kind kind, int peer);
  /// Ends the group for everybody. Never throws.
  void leave() noexcept;

  [[nodiscard]] const Arena& arena() const { return arena_; }
  [[nodiscard]] const Members& members() const { return members_; }
  [[nodiscard]] const std::shared_ptr<const Peers>& peers() const { return peers_; }
  [[nodiscard]] Seconds timeout() const { return timeout_; }
  /// Writes "rank 3 (pid 4242 on host)" for a member.
  [[nodiscard]] std::string describe(int member) const;

 private:
  enum class End : std::uint32_t { none, died, left, gave_up };
  struct Wait {
    FutexWord& word;
    std::uint32_t seen;
    Kind kind;
    /// World ranks whose end makes this wait hopeless.
    const std::vector<int>& needed;
  };

  void sleep_until_changed(const Wait& wait, const std::function<std::string()>& missing);
  void glance(const Wait& wait);
  void set_end(End end, int world_rank) noexcept;
  void throw_if_ended(Kind kind) const;
  [[nodiscard]] std::string missing_members(std::uint32_t phase) const;

  Arena arena_;
  Members members_;
  std::shared_ptr<const Peers> peers_;
  Seconds timeout_;
};

}  // namespace sheaf::comm::shared
