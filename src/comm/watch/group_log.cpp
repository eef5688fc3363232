#include "group_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/checksum.h"
#include "sheaf/base/log.h"
#include "sheaf/base/units.h"

namespace sheaf::comm {
namespace {

// Odd, so that 0 stays free for "no group".
std::uint64_t id_of(const std::string& name) { return checksum_of(name) | 1; }

/// Joins a fingerprint to those before it, so that ranks which differed once differ for good.
std::uint64_t joined(std::uint64_t history, std::uint64_t fingerprint) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  std::uint64_t mixed = (history ^ fingerprint) * kOdd;
  mixed ^= mixed >> 29;
  return mixed * kOdd + fingerprint;
}

std::optional<CallRecord> find_call(const RankPage& page,
                                    std::uint64_t group,
                                    std::uint64_t exchange) {
  for (const CallRecord& call : page.last_calls()) {
    if (call.group == group && call.exchange == exchange && !call.is_message()) return call;
  }
  return std::nullopt;
}

/// The calls that members made as one exchange of a group.
struct Exchange {
  std::map<std::string, std::vector<int>> callers;
  std::int64_t first_began = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] bool is_mixed() const { return callers.size() > 1; }
};

}  // namespace

GroupLog::GroupLog(Members members, const std::string& name, std::shared_ptr<Board> board)
    : members_(std::move(members)),
      name_(name),
      id_(id_of(name)),
      board_(std::move(board)),
      pages_(static_cast<std::size_t>(members_.size())) {
  for (const bool near : {true, false}) {
    for (std::size_t m = 0; m < pages_.size(); ++m) {
      if (static_cast<int>(m) == members_.rank) continue;
      if (board_->is_near(members_.world_ranks[m]) == near) peers_.push_back(m);
    }
    if (near) num_near_ = peers_.size();
  }
  take_page();
}

GroupLog::~GroupLog() {
  if (page_ != nullptr) page_->group.store(0, std::memory_order_release);
}

void GroupLog::take_page() {
  std::uint32_t place = 0;
  for (GroupPage& page : own().groups) {
    ++place;
    if (page.group.load(std::memory_order_relaxed) != 0) continue;
    page.begun.store(0, std::memory_order_relaxed);
    page.unsettled.store(0, std::memory_order_relaxed);
    page.set_name(short_name(name_));
    std::uint64_t free = 0;
    // Groups are made one at a time as a rule, but nobody promises it.
    if (!page.group.compare_exchange_strong(free, id_)) continue;
    page_ = &page;
    // See Note [Who sees that ranks differ], whose order this is part of.
    std::uint32_t used = own().num_pages.load();
    while (used < place && !own().num_pages.compare_exchange_weak(used, place)) continue;
    return;
  }
  if (own().num_left_out.fetch_add(1) == 0 && members_.size() > 1) say_that_nothing_is_compared();
}

void GroupLog::say_that_nothing_is_compared() const {
  log::warning("watch",
               fmt::format("this rank is in more than {} groups at a time: calls of group {} and "
                           "of further ones are not compared with those of other ranks, unless by "
                           "fault.check = full",
                           kMaxGroups,
                           name_));
}

std::uint64_t GroupLog::begin(CallRecord call) {
  RankPage& page = own();
  call.number = page.num_calls.fetch_add(1, std::memory_order_relaxed) + 1;
  call.group = id_;
  call.began = board_time();
  CallSlot& slot = page.calls[(call.number - 1) % kRememberedCalls];
  if (call.is_message()) {
    slot.write(call);
    return call.number;
  }
  call.exchange = begun_++;
  call.fingerprint = fingerprint_of(call);
  history_ = joined(history_, call.fingerprint);
  slot.write(call);
  if (page_ != nullptr) {
    page_->history[call.exchange % kRememberedCalls].store(history_, std::memory_order_relaxed);
    // See Note [Who sees that ranks differ].
    page_->begun.store(begun_, std::memory_order_seq_cst);
  }
  return call.number;
}

void GroupLog::end(std::uint64_t number, CallState state) {
  own().calls[(number - 1) % kRememberedCalls].finish(number, state, board_time());
}

const GroupPage* GroupLog::page_of(std::size_t member) const {
  const GroupPage* known = pages_[member].load(std::memory_order_relaxed);
  if (known != nullptr && known->group.load(std::memory_order_acquire) == id_) return known;
  known = board_->rank(members_.world_ranks[member]).find(id_);
  pages_[member].store(known, std::memory_order_relaxed);
  return known;
}

/// Tells whether a peer's calls up to and with `exchange` are others than this rank's.
bool GroupLog::differs(const GroupPage& peer, std::uint64_t exchange) const {
  const auto remembers = [&](const GroupPage& page) {
    const std::uint64_t begun = page.begun.load(std::memory_order_seq_cst);
    return begun > exchange && begun - exchange < kRememberedCalls &&
           page.unsettled.load(std::memory_order_seq_cst) == 0;
  };
  // Either may be far ahead where calls return before they are done, as on a GPU's stream.
  if (!remembers(peer) || !remembers(*page_)) return false;
  const std::size_t place = exchange % kRememberedCalls;
  const std::uint64_t theirs = peer.history[place].load(std::memory_order_relaxed);
  const std::uint64_t ours = page_->history[place].load(std::memory_order_relaxed);
  // Looked at again, because a rank may have gone on and used the place for another exchange.
  return theirs != ours && remembers(peer) && remembers(*page_) && peer.group.load() == id_;
}

std::optional<std::string> GroupLog::disagreement(Range range) const {
  if (page_ == nullptr) return std::nullopt;
  const std::uint64_t own_begun = page_->begun.load(std::memory_order_seq_cst);
  const std::size_t num_peers = range == Range::near ? num_near_ : peers_.size();
  for (std::size_t i = 0; i < num_peers; ++i) {
    const GroupPage* peer = page_of(peers_[i]);
    if (peer == nullptr) continue;
    const std::uint64_t begun = std::min(own_begun, peer->begun.load(std::memory_order_seq_cst));
    if (begun > 0 && differs(*peer, begun - 1)) return describe_difference(begun - 1);
  }
  return std::nullopt;
}

std::vector<int> GroupLog::not_begun(std::uint64_t exchange) const {
  std::vector<int> ranks;
  for (int m = 0; m < members_.size(); ++m) {
    if (m == members_.rank) continue;
    const int world_rank = members_.world_ranks[static_cast<std::size_t>(m)];
    if (!has_begun(board_->rank(world_rank), exchange)) ranks.push_back(world_rank);
  }
  return ranks;
}

bool GroupLog::has_begun(const RankPage& peer, std::uint64_t exchange) const {
  const GroupPage* page = peer.find(id_);
  if (page != nullptr && page->begun.load(std::memory_order_acquire) > exchange) return true;
  // Its last calls tell of groups without a page, too.
  const std::vector<CallRecord> calls = peer.last_calls();
  return std::ranges::any_of(calls, [&](const CallRecord& call) {
    return call.group == id_ && !call.is_message() && call.exchange >= exchange;
  });
}

/// Names the first exchange in memory that members called differently.
std::string GroupLog::describe_difference(std::uint64_t exchange) const {
  const std::uint64_t oldest = exchange < kRememberedCalls ? 0 : exchange - kRememberedCalls + 1;
  for (std::uint64_t e = oldest; e <= exchange; ++e) {
    Exchange calls;
    for (const int rank : members_.world_ranks) {
      const auto call = find_call(board_->rank(rank), id_, e);
      if (!call) continue;
      calls.callers[describe(*call)].push_back(rank);
      calls.first_began = std::min(calls.first_began, call->began);
    }
    if (!calls.is_mixed()) continue;
    std::string sentence = "ranks disagree: ";
    for (const auto& [what, ranks] : calls.callers) {
      sentence += fmt::format("{} called {}, ", list_of_ranks(ranks), what);
    }
    const Seconds late = std::chrono::nanoseconds(board_time() - calls.first_began);
    return sentence + fmt::format("as exchange {} of group {}; found {} after the first of them",
                                  e,
                                  name_,
                                  to_string(late));
  }
  return fmt::format(
      "ranks disagree: up to exchange {} of group {} they made different calls, which are too long "
      "ago to be named",
      exchange,
      name_);
}

std::string list_of_ranks(const std::vector<int>& ranks) {
  constexpr std::size_t kNamed = 8;
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  const std::size_t named = ranks.size() > kNamed ? kNamed - 1 : ranks.size() - 1;
  std::string text = "ranks ";
  for (std::size_t i = 0; i < named; ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  if (ranks.size() > kNamed) return text + fmt::format(" and {} others", ranks.size() - named);
  return text + fmt::format(" and {}", ranks.back());
}

}  // namespace sheaf::comm
