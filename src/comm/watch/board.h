#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../shared/futex.h"
#include "../shared/segment.h"
#include "call_record.h"

namespace sheaf::comm {

inline constexpr std::size_t kRememberedCalls = 64;
/// Of a rank at a time. Memory is taken by those that are there only.
inline constexpr std::size_t kMaxGroups = 256;
inline constexpr std::size_t kSentenceBytes = 1024;

using SharedWord = std::atomic<std::uint64_t>;
static_assert(SharedWord::is_always_lock_free);

/// A CallRecord that one rank writes while others read; word 0, its number, is 0 meanwhile.
class CallSlot {
 public:
  void write(const CallRecord& call);
  /// Says how the call `number` ended, unless a later one has taken the slot.
  void finish(std::uint64_t number, CallState state, std::int64_t now);
  /// Returns nothing where there is no call, or one that is just being written.
  [[nodiscard]] std::optional<CallRecord> read() const;

 private:
  std::array<SharedWord, kRecordWords> words_;
};

/// What a rank says of one of its groups.
struct GroupPage {
  /// The group's number; 0: the page is free.
  SharedWord group;
  /// Exchanges that this rank has begun.
  SharedWord begun;
  /// Not 0 while the fingerprints of a copy (see FarPages) are not those of `begun` exchanges.
  SharedWord unsettled;
  /// Fingerprints of the last exchanges, each with all before it, by exchange modulo their number.
  std::array<SharedWord, kRememberedCalls> history;
  std::array<SharedWord, kNameBytes / sizeof(std::uint64_t)> name;

  void set_name(const ShortName& text);
  [[nodiscard]] ShortName get_name() const;
};

enum class Standing : std::uint32_t { absent, running, reported, left };

/// What a rank says of itself.
struct RankPage {
  alignas(128) SharedWord num_calls;
  /// When its watch was last awake; 0 where it has none.
  std::atomic<std::int64_t> heard;
  std::atomic<Standing> standing;
  /// Groups that found no page free; their calls are not compared.
  std::atomic<std::uint32_t> num_left_out;
  /// What this rank has found out, if it has; ended by a zero. See Board::condemn().
  std::array<std::atomic<char>, kSentenceBytes> sentence;
  std::array<CallSlot, kRememberedCalls> calls;
  /// Pages of groups from here on have never been used.
  std::atomic<std::uint32_t> num_pages;
  std::array<GroupPage, kMaxGroups> groups;

  /// Returns the pages that are or were used.
  [[nodiscard]] std::span<const GroupPage> used_pages() const;
  [[nodiscard]] const GroupPage* find(std::uint64_t group) const;
  /// Returns the calls that are remembered, oldest first.
  [[nodiscard]] std::vector<CallRecord> last_calls() const;
  [[nodiscard]] std::optional<CallRecord> last_call() const;
};

/// Why a run cannot go on.
struct Verdict {
  /// The rank that found out.
  int finder = 0;
  std::string sentence;
};

/// Memory that all ranks of a host write their last calls into and read those of others from;
/// pages of ranks on other hosts are copies, see FarPages.
class Board {
 public:
  /// `near`: the world ranks that write their pages themselves.
  Board(std::shared_ptr<shared::Segment> segment, int num_ranks, std::vector<int> near);
  [[nodiscard]] static std::size_t bytes(int num_ranks);

  [[nodiscard]] int num_ranks() const { return num_ranks_; }
  [[nodiscard]] bool is_near(int world_rank) const;
  [[nodiscard]] RankPage& rank(int world_rank) const;

  /// Says why the run cannot go on; the first verdict stays. The finder writes its sentence on its
  /// own page before one step makes it the verdict, so that a rank which dies on the way leaves
  /// none, and others can still find what it has found.
  void condemn(const Verdict& verdict);
  [[nodiscard]] std::optional<Verdict> verdict() const;
  [[nodiscard]] bool is_condemned() const;
  /// Sleeps until there is a verdict, wake() is called or time is up.
  void wait(std::chrono::nanoseconds limit) const;
  void wake() const;

 private:
  struct Head;
  [[nodiscard]] Head& head() const;

  std::shared_ptr<shared::Segment> segment_;
  int num_ranks_;
  std::vector<int> near_;
  /// Of several threads of one rank only one writes its sentence.
  std::mutex condemning_;
};

/// Returns nanoseconds of the clock that is used on boards.
[[nodiscard]] std::int64_t board_time();

}  // namespace sheaf::comm
