#include "watch.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "sheaf/base/error.h"
#include "sheaf/base/log.h"

namespace sheaf::comm::one_gpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookEvery{50};
constexpr std::chrono::microseconds kIdleLook{100};
constexpr std::size_t kTopics = 4;
constexpr std::array kOwnProgress{Topic::finished, Topic::sent, Topic::received};
// Far ahead of any count that streams wait for, and not yet taken for one that has wrapped.
constexpr std::uint32_t kFarAhead = 1U << 30;

}  // namespace

Watch::Watch(std::shared_ptr<Words> words,
             Members members,
             std::shared_ptr<const Peers> peers,
             Seconds timeout)
    : words_(std::move(words)),
      members_(std::move(members)),
      peers_(std::move(peers)),
      timeout_(timeout),
      expected_(kTopics * static_cast<std::size_t>(members_.size())),
      moved_(Clock::now()) {
  for (int r = 0; r < size(); ++r) {
    if (r != members_.rank) others_.push_back(members_.world_ranks[static_cast<std::size_t>(r)]);
  }
  if (size() > 1) thread_ = std::thread([this] { run(); });
}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::size_t Watch::index(Topic topic, int peer) const {
  return static_cast<std::size_t>(topic) * static_cast<std::size_t>(size()) +
         static_cast<std::size_t>(peer);
}

void Watch::expect(Topic topic, int to, std::uint32_t count, Kind kind) {
  kind_ = kind;
  expected_[index(topic, to)] = count;
}

void Watch::check() const {
  if (failed_) {
    const std::lock_guard lock(mutex_);
    throw CommError(why_);
  }
  if (const std::uint32_t left = words_->left()) {
    throw CommError(describe(static_cast<int>(left) - 1) + " has left the group");
  }
}

std::string Watch::describe(int member) const {
  return peers_->describe(members_.world_ranks[static_cast<std::size_t>(member)]);
}

bool Watch::is_outstanding(Topic topic, int peer) const {
  return !reached((*words_)(topic, peer, members_.rank), expected_[index(topic, peer)]);
}

/// Returns the world ranks that this rank's streams wait for.
std::vector<int> Watch::needed_peers() const {
  std::vector<int> needed;
  bool in_collective = false;
  for (int r = 0; r < size(); ++r) {
    if (r != members_.rank) in_collective = in_collective || is_outstanding(Topic::finished, r);
  }
  for (int r = 0; r < size(); ++r) {
    if (r == members_.rank) continue;
    if (in_collective || is_outstanding(Topic::sent, r) || is_outstanding(Topic::received, r)) {
      needed.push_back(members_.world_ranks[static_cast<std::size_t>(r)]);
    }
  }
  return needed;
}

std::uint64_t Watch::progress() const {
  std::uint64_t sum = 0;
  for (int r = 0; r < size(); ++r) {
    for (const Topic topic : kOwnProgress) sum += (*words_)(topic, r, members_.rank);
  }
  return sum;
}

/// Names the peers that have come to fewer turns than this rank.
std::string Watch::describe_missing() const {
  std::string list;
  for (int r = 0; r < size(); ++r) {
    if (r == members_.rank) continue;
    const std::uint32_t own = (*words_)(Topic::arrived, r, members_.rank);
    if (reached((*words_)(Topic::arrived, members_.rank, r), own)) continue;
    list += (list.empty() ? "" : ", ") + describe(r);
  }
  return list.empty() ? "a peer" : list;
}

void Watch::look() {
  const std::vector<int> needed = needed_peers();
  const std::uint64_t now_done = progress();
  if (needed.empty() || now_done != last_progress_) moved_ = Clock::now();
  last_progress_ = now_done;
  if (needed.empty()) return;
  const std::uint32_t left = words_->left();
  const auto ended = peers_->find_ended(needed);
  // Who did its part before it went leaves nothing to wait for.
  if ((left != 0 || ended) && needed_peers().empty()) return;
  if (ended) return fail(fmt::format("{} ended during {}", peers_->describe(*ended), name(kind_)));
  if (left != 0) {
    return fail(
        fmt::format("{} left during {}", describe(static_cast<int>(left) - 1), name(kind_)));
  }
  if (Clock::now() - moved_ < timeout_) return;
  fail(fmt::format(
      "{} did not come to {} within {}", describe_missing(), name(kind_), to_string(timeout_)));
}

/// The peers learn it before this rank's streams run on and overwrite what they read.
void Watch::fail(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (failed_) return;
    why_ = why;
  }
  leave();
  failed_ = true;
  log::error("comm", why);
}

/// Peers that still live go on writing their words for a while, so this is done again and again.
void Watch::release_streams() {
  struct Awaited {
    Topic word;
    /// What this rank's streams write when they have got it.
    Topic own;
  };
  for (const Awaited awaited : {Awaited{Topic::arrived, Topic::arrived},
                                Awaited{Topic::sent, Topic::received},
                                Awaited{Topic::received, Topic::sent}}) {
    for (int r = 0; r < size(); ++r) {
      (*words_)(awaited.word, members_.rank, r) = expected_[index(awaited.own, r)] + kFarAhead;
    }
  }
}

void Watch::run() {
  pthread_setname_np(pthread_self(), "sheaf-watch");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    if (!failed_) look();
    if (failed_) release_streams();
    lock.lock();
    changed_.wait_for(lock, kLookEvery, [this] { return stopping_; });
  }
}

bool Watch::all_finished() const {
  for (int r = 0; r < size(); ++r) {
    if (r == members_.rank) continue;
    const std::uint32_t calls = expected_[index(Topic::finished, r)];
    if (!reached((*words_)(Topic::finished, members_.rank, r), calls)) return false;
    if (is_outstanding(Topic::finished, r)) return false;
  }
  return true;
}

void Watch::wait_until_idle() {
  const auto began = Clock::now();
  while (!failed_ && !all_finished()) {
    const auto ended = peers_->find_ended(others_);
    if (all_finished()) return;
    if (ended)
      return fail(fmt::format("{} ended during {}", peers_->describe(*ended), name(kind_)));
    if (words_->left() != 0) return fail("a peer has left the group");
    if (Clock::now() - began > timeout_) {
      return fail(
          fmt::format("a peer did not finish {} within {}", name(kind_), to_string(timeout_)));
    }
    std::this_thread::sleep_for(kIdleLook);
  }
}

void Watch::wait_for_reader(int peer, std::uint32_t count) {
  const auto began = Clock::now();
  const std::vector<int> reader{members_.world_ranks[static_cast<std::size_t>(peer)]};
  while (!failed_ && !reached((*words_)(Topic::received, members_.rank, peer), count)) {
    if (peers_->find_ended(reader) || Clock::now() - began > timeout_) return;
    std::this_thread::sleep_for(kIdleLook);
  }
}

void Watch::leave() noexcept {
  std::uint32_t nobody = 0;
  words_->left().compare_exchange_strong(nobody, static_cast<std::uint32_t>(members_.rank) + 1);
}

}  // namespace sheaf::comm::one_gpu
