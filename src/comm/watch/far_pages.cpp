#include "far_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "sheaf/base/log.h"

namespace sheaf::comm {
namespace {

using Words = std::vector<std::uint64_t>;

std::string key_of(int carrier) { return fmt::format("calls/{}", carrier); }

std::vector<std::uint8_t> to_bytes(const Words& words) {
  std::vector<std::uint8_t> bytes(words.size() * sizeof(std::uint64_t));
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

Words to_words(const std::vector<std::uint8_t>& bytes) {
  Words words(bytes.size() / sizeof(std::uint64_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(std::uint64_t));
  return words;
}

/// Takes words one after the other; zeros after the last.
class Taker {
 public:
  explicit Taker(const Words& words) : words_(words) {}
  std::uint64_t next() { return place_ < words_.size() ? words_[place_++] : 0; }

 private:
  const Words& words_;
  std::size_t place_ = 0;
};

void pack_text(const std::string& text, Words& words) {
  words.push_back(text.size());
  for (const char letter : text) words.push_back(static_cast<unsigned char>(letter));
}

std::string unpack_text(Taker& words) {
  constexpr std::uint64_t kLimit = 4096;
  const std::uint64_t size = std::min(words.next(), kLimit);
  std::string text;
  for (std::uint64_t i = 0; i < size; ++i) text += static_cast<char>(words.next());
  return text;
}

void pack_groups(const RankPage& page, Words& words) {
  for (const GroupPage& group : page.used_pages()) {
    const std::uint64_t id = group.group.load(std::memory_order_acquire);
    if (id == 0) continue;
    words.push_back(id);
    const std::uint64_t begun = group.begun.load(std::memory_order_seq_cst);
    words.push_back(begun);
    for (const SharedWord& word : group.history) words.push_back(word.load());
    for (const SharedWord& word : group.name) words.push_back(word.load());
    // A history that was written to meanwhile says nothing; the next one will.
    words.push_back(group.begun.load(std::memory_order_seq_cst) == begun ? 0 : 1);
  }
  words.push_back(0);
}

void pack(const RankPage& page, Words& words) {
  words.push_back(page.num_calls.load());
  words.push_back(static_cast<std::uint64_t>(page.heard.load()));
  words.push_back(static_cast<std::uint64_t>(page.standing.load()));
  const std::vector<CallRecord> calls = page.last_calls();
  words.push_back(calls.size());
  for (const CallRecord& call : calls) {
    const auto record = std::bit_cast<std::array<std::uint64_t, kRecordWords>>(call);
    words.insert(words.end(), record.begin(), record.end());
  }
  pack_groups(page, words);
}

/// `ahead`: how much this host's clock shows more.
void unpack_calls(Taker& words, std::int64_t ahead, RankPage& page) {
  const std::uint64_t count = std::min<std::uint64_t>(words.next(), kRememberedCalls);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::array<std::uint64_t, kRecordWords> record{};
    for (std::uint64_t& word : record) word = words.next();
    auto call = std::bit_cast<CallRecord>(record);
    if (call.number == 0) continue;
    call.began += ahead;
    call.ended += ahead;
    page.calls[(call.number - 1) % kRememberedCalls].write(call);
  }
}

void unpack_groups(Taker& words, RankPage& page) {
  std::size_t used = 0;
  for (std::uint64_t id = words.next(); id != 0 && used < kMaxGroups; id = words.next(), ++used) {
    GroupPage& group = page.groups[used];
    const std::uint64_t begun = words.next();
    // Nobody is to compare with a history that is half written, nor to miss who has begun.
    group.unsettled.store(1, std::memory_order_seq_cst);
    if (group.group.load(std::memory_order_relaxed) != id) group.group.store(0);
    for (SharedWord& word : group.history) word.store(words.next(), std::memory_order_relaxed);
    for (SharedWord& word : group.name) word.store(words.next(), std::memory_order_relaxed);
    group.begun.store(begun, std::memory_order_seq_cst);
    group.group.store(id, std::memory_order_release);
    group.unsettled.store(words.next(), std::memory_order_seq_cst);
  }
  const std::size_t before = page.used_pages().size();
  page.num_pages.store(static_cast<std::uint32_t>(std::max(used, before)));
  for (; used < before; ++used) page.groups[used].group.store(0, std::memory_order_release);
}

}  // namespace

FarPages::FarPages(Setting setting) : setting_(std::move(setting)) {}

bool FarPages::is_carrier() const {
  if (setting_.hosts.size() < 2) return false;
  for (const std::vector<int>& host : setting_.hosts) {
    if (host.front() == setting_.rank) return true;
  }
  return false;
}

void FarPages::exchange() {
  if (is_lost_ || !is_carrier()) return;
  try {
    for (const std::vector<int>& host : setting_.hosts) {
      if (host.front() == setting_.rank) publish(host);
    }
    for (const std::vector<int>& host : setting_.hosts) {
      if (host.front() != setting_.rank) take_over(host);
    }
  } catch (const std::exception& error) {
    // Whoever serves the store has ended, or is about to; then the ranks notice in other ways.
    log::debug("watch", error.what());
    is_lost_ = true;
  }
}

void FarPages::publish(const std::vector<int>& ranks) {
  Words words = {static_cast<std::uint64_t>(board_time())};
  const auto verdict = setting_.board->verdict();
  words.push_back(verdict ? static_cast<std::uint64_t>(verdict->finder) : 0);
  pack_text(verdict ? verdict->sentence : "", words);
  for (const int rank : ranks) pack(setting_.board->rank(rank), words);
  setting_.store->set(key_of(setting_.rank), to_bytes(words));
}

void FarPages::take_over(const std::vector<int>& ranks) {
  const std::string key = key_of(ranks.front());
  if (!setting_.store->check({key})) return;
  unpack(ranks, to_words(setting_.store->get(key)));
}

void FarPages::unpack(const std::vector<int>& ranks, const std::vector<std::uint64_t>& all) {
  Taker words(all);
  const std::int64_t ahead = board_time() - static_cast<std::int64_t>(words.next());
  const int finder = static_cast<int>(words.next());
  const std::string sentence = unpack_text(words);
  for (const int rank : ranks) {
    RankPage& page = setting_.board->rank(rank);
    page.num_calls.store(words.next());
    const auto heard = static_cast<std::int64_t>(words.next());
    if (heard != heard_[rank]) page.heard.store(heard == 0 ? 0 : board_time());
    heard_[rank] = heard;
    page.standing.store(static_cast<Standing>(words.next()));
    unpack_calls(words, ahead, page);
    unpack_groups(words, page);
  }
  const bool is_rank = finder >= 0 && finder < setting_.board->num_ranks();
  if (is_rank && !sentence.empty()) {
    setting_.board->condemn({.finder = finder, .sentence = sentence});
  }
}

std::vector<std::vector<int>> ranks_by_host(const Peers& peers) {
  std::vector<std::vector<int>> hosts;
  std::map<std::string, std::size_t> places;
  for (int rank = 0; rank < peers.size(); ++rank) {
    const auto [place, is_new] = places.try_emplace(peers.identity(rank).pid_space, hosts.size());
    if (is_new) hosts.emplace_back();
    hosts[place->second].push_back(rank);
  }
  return hosts;
}

}  // namespace sheaf::comm
