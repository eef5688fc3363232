#include "board.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstring>

namespace sheaf::comm {
namespace {

using Words = std::array<std::uint64_t, kRecordWords>;

// Words of a record that change when the call ends.
constexpr std::size_t kStateWord = offsetof(CallRecord, state) / sizeof(std::uint64_t);
constexpr std::size_t kEndedWord = offsetof(CallRecord, ended) / sizeof(std::uint64_t);
static_assert(offsetof(CallRecord, state) % sizeof(std::uint64_t) == 0);

constexpr std::uint32_t kNobody = 0;

}  // namespace

void CallSlot::write(const CallRecord& call) {
  const auto words = std::bit_cast<Words>(call);
  words_[0].store(0, std::memory_order_relaxed);
  // Whoever reads a new word sees that the number is gone: no fence, which some sanitizers refuse.
  for (std::size_t i = 1; i < words.size(); ++i) {
    words_[i].store(words[i], std::memory_order_release);
  }
  words_[0].store(words[0], std::memory_order_release);
}

void CallSlot::finish(std::uint64_t number, CallState state, std::int64_t now) {
  if (words_[0].load(std::memory_order_relaxed) != number) return;
  constexpr std::uint64_t kStateBits = 0xffff;
  const std::uint64_t word = words_[kStateWord].load(std::memory_order_relaxed);
  words_[kEndedWord].store(static_cast<std::uint64_t>(now), std::memory_order_relaxed);
  words_[kStateWord].store((word & ~kStateBits) | static_cast<std::uint64_t>(state),
                           std::memory_order_release);
}

std::optional<CallRecord> CallSlot::read() const {
  Words words{};
  words[0] = words_[0].load(std::memory_order_acquire);
  if (words[0] == 0) return std::nullopt;
  for (std::size_t i = 1; i < words.size(); ++i) {
    words[i] = words_[i].load(std::memory_order_acquire);
  }
  if (words_[0].load(std::memory_order_relaxed) != words[0]) return std::nullopt;
  return std::bit_cast<CallRecord>(words);
}

void GroupPage::set_name(const ShortName& text) {
  const auto words =
      std::bit_cast<std::array<std::uint64_t, std::tuple_size_v<decltype(name)>>>(text);
  for (std::size_t i = 0; i < words.size(); ++i) name[i].store(words[i], std::memory_order_relaxed);
}

ShortName GroupPage::get_name() const {
  std::array<std::uint64_t, std::tuple_size_v<decltype(name)>> words{};
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = name[i].load(std::memory_order_relaxed);
  return std::bit_cast<ShortName>(words);
}

std::span<const GroupPage> RankPage::used_pages() const {
  return std::span(groups).first(std::min<std::size_t>(num_pages.load(), kMaxGroups));
}

const GroupPage* RankPage::find(std::uint64_t group) const {
  for (const GroupPage& page : used_pages()) {
    if (page.group.load(std::memory_order_acquire) == group) return &page;
  }
  return nullptr;
}

std::vector<CallRecord> RankPage::last_calls() const {
  std::vector<CallRecord> found;
  for (const CallSlot& slot : calls) {
    if (const auto call = slot.read()) found.push_back(*call);
  }
  std::ranges::sort(found, {}, &CallRecord::number);
  return found;
}

std::optional<CallRecord> RankPage::last_call() const {
  const std::vector<CallRecord> all = last_calls();
  return all.empty() ? std::nullopt : std::optional(all.back());
}

struct Board::Head {
  /// One more than the rank whose sentence is the verdict, or kNobody.
  shared::FutexWord finder;
};

Board::Board(std::shared_ptr<shared::Segment> segment, int num_ranks, std::vector<int> near)
    : segment_(std::move(segment)), num_ranks_(num_ranks), near_(std::move(near)) {}

bool Board::is_near(int world_rank) const {
  return std::ranges::find(near_, world_rank) != near_.end();
}

std::size_t Board::bytes(int num_ranks) {
  static_assert(sizeof(Head) <= sizeof(RankPage));
  return sizeof(RankPage) * (static_cast<std::size_t>(num_ranks) + 1);
}

Board::Head& Board::head() const { return *reinterpret_cast<Head*>(segment_->data()); }

RankPage& Board::rank(int world_rank) const {
  return *reinterpret_cast<RankPage*>(
      segment_->data() + sizeof(RankPage) * (static_cast<std::size_t>(world_rank) + 1));
}

void Board::condemn(const Verdict& verdict) {
  const std::lock_guard lock(condemning_);
  if (is_condemned()) return;
  auto& sentence = rank(verdict.finder).sentence;
  const std::size_t size = std::min(verdict.sentence.size(), kSentenceBytes - 1);
  for (std::size_t i = 0; i < size; ++i) {
    sentence[i].store(verdict.sentence[i], std::memory_order_relaxed);
  }
  sentence[size].store('\0', std::memory_order_relaxed);
  std::uint32_t nobody = kNobody;
  head().finder.compare_exchange_strong(nobody, static_cast<std::uint32_t>(verdict.finder) + 1);
  wake();
}

std::optional<Verdict> Board::verdict() const {
  const std::uint32_t finder = head().finder.load(std::memory_order_acquire);
  if (finder == kNobody) return std::nullopt;
  Verdict verdict{.finder = static_cast<int>(finder - 1), .sentence = {}};
  for (const std::atomic<char>& letter : rank(verdict.finder).sentence) {
    const char value = letter.load(std::memory_order_relaxed);
    if (value == '\0') break;
    verdict.sentence += value;
  }
  return verdict;
}

bool Board::is_condemned() const {
  return head().finder.load(std::memory_order_relaxed) != kNobody;
}

void Board::wait(std::chrono::nanoseconds limit) const {
  shared::futex_wait(head().finder, kNobody, limit);
}

void Board::wake() const { shared::futex_wake_all(head().finder); }

std::int64_t board_time() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace sheaf::comm
