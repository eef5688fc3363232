// What ranks write down of their calls, where others of their host and of other hosts read it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <list>
#include <set>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "comm/compat.h"
#include "comm/store/client.h"
#include "comm/store/server.h"
#include "comm/watch/far_pages.h"
#include "comm/watch/group_log.h"
#include "comm/watch/join.h"

namespace sheaf::comm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A board per host, as two hosts with a rank each have them, and what carries pages between.
struct Host {
  Host(int rank, const c10::intrusive_ptr<c10d::Store>& store)
      : board(std::make_shared<Board>(
            shared::Segment::create(shared::Ranks::threads, Board::bytes(2)),
            2,
            std::vector<int>{rank})),
        log({.rank = rank, .world_ranks = {0, 1}}, "world", board),
        far({.board = board, .store = store, .hosts = {{0}, {1}}, .rank = rank}) {}

  std::shared_ptr<Board> board;
  GroupLog log;
  FarPages far;
};

CallRecord gather_of(std::string_view unit) {
  CallRecord call;
  call.kind = static_cast<std::uint8_t>(Kind::all_gather);
  call.dtype = static_cast<std::int8_t>(at::kFloat);
  call.bytes = 64;
  call.unit = short_name(unit);
  return call;
}

TEST(FarPages, ShowWhatAnotherHostCalled) {
  const auto store = compat::memory_store(Seconds(10));
  Host first(0, store);
  Host second(1, store);
  first.log.begin(gather_of("blocks.0"));
  second.log.begin(gather_of("blocks.1"));
  second.far.exchange();
  first.far.exchange();
  EXPECT_EQ(first.log.disagreement(GroupLog::Range::near), std::nullopt);
  const auto found = first.log.disagreement(GroupLog::Range::all);
  ASSERT_TRUE(found);
  EXPECT_THAT(*found,
              AllOf(HasSubstr("rank 0 called all_gather of 64 bytes of Float for unit blocks.0"),
                    HasSubstr("rank 1 called all_gather of 64 bytes of Float for unit blocks.1")));
}

TEST(FarPages, CarryTheVerdict) {
  const auto store = compat::memory_store(Seconds(10));
  Host first(0, store);
  Host second(1, store);
  second.board->condemn({.finder = 1, .sentence = "all is lost"});
  second.far.exchange();
  first.far.exchange();
  ASSERT_TRUE(first.board->verdict());
  EXPECT_EQ(first.board->verdict()->finder, 1);
  EXPECT_EQ(first.board->verdict()->sentence, "all is lost");
}

TEST(FarPages, NeverMissWhoHasBegun) {
  const auto store = compat::memory_store(Seconds(10));
  Host first(0, store);
  Host second(1, store);
  second.log.begin(gather_of("blocks.0"));
  second.far.exchange();
  constexpr int kCalls = 1'000'000;
  std::atomic<int> calls = 0;
  // Goes on while its page is copied.
  std::thread busy([&] {
    while (calls++ < kCalls) second.log.begin(gather_of("blocks.0"));
  });
  std::size_t missed = 0;
  while (calls < kCalls) {
    second.far.exchange();
    first.far.exchange();
    missed += first.log.not_begun(0).size();
  }
  busy.join();
  EXPECT_EQ(missed, 0U);
}

TEST(FarPages, SayNothingOfCallsWhileTheyAreCopied) {
  const auto store = compat::memory_store(Seconds(10));
  Host first(0, store);
  Host second(1, store);
  first.log.begin(gather_of("blocks.0"));
  second.log.begin(gather_of("blocks.1"));
  second.far.exchange();
  first.far.exchange();
  first.board->rank(1).groups[0].unsettled = 1;
  EXPECT_EQ(first.log.disagreement(GroupLog::Range::all), std::nullopt);
  EXPECT_THAT(first.log.not_begun(0), IsEmpty());
}

TEST(FarPages, AreCarriedWhileTheRankWaitsForTheStore) {
  const auto server = std::make_shared<store::Server>(
      store::listen_at({}, store::Reach::this_machine), store::ServerOptions{});
  const auto join = [&] {
    return c10::make_intrusive<store::Client>(store::ClientOptions{.address = server->address()});
  };
  const auto own = join();
  const auto other = join();
  const auto peers = std::make_shared<const Peers>(std::vector<Identity>{
      Identity::own(), {.host = "far", .pid_space = "of another machine", .pid = 1}});
  const Lookout lookout = join_lookout({.peers = peers, .store = own, .rank = 0});
  std::thread rank([&] { own->wait({"at last"}); });
  // Each has another time in it.
  std::set<std::vector<std::uint8_t>> pages;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (pages.size() < 4 && std::chrono::steady_clock::now() < limit) {
    pages.insert(other->get("watch/calls/0"));
  }
  other->set("at last", "");
  rank.join();
  EXPECT_EQ(pages.size(), 4U);
}

TEST(Board, TakesTheVerdictOfAnotherWhenAFinderDiesWhileItWritesItsOwn) {
  const auto board = thread_board(2);
  for (std::size_t i = 0; i < 5; ++i) board->rank(1).sentence[i] = "rank "[i];
  EXPECT_FALSE(board->is_condemned());
  EXPECT_EQ(board->verdict(), std::nullopt);
  board->condemn({.finder = 0, .sentence = "all is lost"});
  board->condemn({.finder = 1, .sentence = "too late"});
  EXPECT_EQ(board->verdict()->finder, 0);
  EXPECT_EQ(board->verdict()->sentence, "all is lost");
}

TEST(CallRecord, NamesPeersOfAnyNumber) {
  CallRecord call;
  call.kind = static_cast<std::uint8_t>(Kind::send);
  call.peer = 70'000;
  EXPECT_THAT(describe(call), HasSubstr("to rank 70000"));
  CallRecord another = call;
  another.peer = 70'000 + (1 << 16);
  EXPECT_NE(fingerprint_of(call), fingerprint_of(another));
}

/// Both ranks' part in groups of one board.
struct Pair {
  Pair(const std::string& name, const std::shared_ptr<Board>& board)
      : zero({.rank = 0, .world_ranks = {0, 1}}, name, board),
        one({.rank = 1, .world_ranks = {0, 1}}, name, board) {}

  GroupLog zero;
  GroupLog one;
};

TEST(GroupLog, ComparesTheCallsOfManyGroups) {
  const auto board = thread_board(2);
  std::list<Pair> groups;
  for (std::size_t i = 0; i < kMaxGroups; ++i)
    groups.emplace_back(fmt::format("group{}", i), board);
  groups.back().zero.begin(gather_of("a"));
  groups.back().one.begin(gather_of("b"));
  EXPECT_TRUE(groups.back().one.disagreement(GroupLog::Range::near));
}

TEST(GroupLog, SaysOnceThatOneGroupTooManyIsNotCompared) {
  const auto board = thread_board(2);
  std::list<Pair> groups;
  for (std::size_t i = 0; i < kMaxGroups; ++i)
    groups.emplace_back(fmt::format("group{}", i), board);
  ::testing::internal::CaptureStderr();
  const GroupLog first({.rank = 0, .world_ranks = {0, 1}}, "first.too.many", board);
  const GroupLog second({.rank = 0, .world_ranks = {0, 1}}, "second.too.many", board);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("calls of group first.too.many and of further ones are not compared"));
  EXPECT_THAT(log, Not(HasSubstr("second.too.many")));
}

TEST(GroupLog, AccusesNobodyOfAGroupWithoutAPage) {
  const auto board = thread_board(2);
  std::list<Pair> groups;
  for (std::size_t i = 0; i <= kMaxGroups; ++i)
    groups.emplace_back(fmt::format("group{}", i), board);
  Pair& last = groups.back();
  last.one.begin(gather_of("a"));
  EXPECT_THAT(last.zero.not_begun(0), IsEmpty());
  EXPECT_THAT(last.zero.not_begun(1), ElementsAre(1));
}

TEST(GroupLog, KnowsALaterDifferenceByTheCallsBefore) {
  const auto board = thread_board(2);
  GroupLog zero({.rank = 0, .world_ranks = {0, 1}}, "world", board);
  GroupLog one({.rank = 1, .world_ranks = {0, 1}}, "world", board);
  zero.begin(gather_of("a"));
  one.begin(gather_of("b"));
  zero.begin(gather_of("c"));
  one.begin(gather_of("c"));
  const auto found = one.disagreement(GroupLog::Range::near);
  ASSERT_TRUE(found);
  EXPECT_THAT(*found, HasSubstr("as exchange 0 of group world"));
}

// As on a GPU, whose calls return before the others have come.
TEST(GroupLog, SeesNoDifferenceToARankThatIsFarBehind) {
  const auto board = thread_board(2);
  GroupLog zero({.rank = 0, .world_ranks = {0, 1}}, "world", board);
  GroupLog one({.rank = 1, .world_ranks = {0, 1}}, "world", board);
  one.begin(gather_of("a"));
  zero.begin(gather_of("a"));
  for (std::size_t i = 0; i < 3 * kRememberedCalls; ++i) {
    zero.begin(gather_of("b"));
    EXPECT_EQ(zero.disagreement(GroupLog::Range::near), std::nullopt);
    EXPECT_EQ(one.disagreement(GroupLog::Range::near), std::nullopt);
  }
}

TEST(ListOfRanks, IsShort) {
  EXPECT_EQ(list_of_ranks({3}), "rank 3");
  EXPECT_EQ(list_of_ranks({0, 2}), "ranks 0 and 2");
  EXPECT_EQ(list_of_ranks({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
            "ranks 0, 1, 2, 3, 4, 5, 6 and 3 others");
}

}  // namespace
}  // namespace sheaf::comm
