#include "meeting.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "sheaf/base/error.h"

namespace sheaf::comm::shared {
namespace {

// A peer that is about to arrive is cheaper to wait for awake. Giving up the core each time keeps
// this harmless when there are more ranks than cores; measured best with 4 ranks on 2 cores.
constexpr int kYields = 200;
// How often a sleeper looks for ended peers; bounds the time to notice one.
constexpr std::chrono::milliseconds kGlance{20};

bool changed(const FutexWord& word, std::uint32_t seen) {
  return word.load(std::memory_order_acquire) != seen;
}

}  // namespace

Meeting::Meeting(Arena arena, Members members, std::shared_ptr<const Peers> peers, Seconds timeout)
    : arena_(std::move(arena)),
      members_(std::move(members)),
      peers_(std::move(peers)),
      timeout_(timeout) {}

void Meeting::arrive(Kind kind) {
  throw_if_ended(kind);
  Control& control = arena_.control();
  // Nobody can pass this barrier without us, so the phase stands still until we have arrived.
  const std::uint32_t phase = control.phase.load(std::memory_order_acquire);
  arena_.rank(members_.rank).arrived.store(phase + 1, std::memory_order_relaxed);
  const std::uint32_t arrived = control.num_arrived.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (arrived == static_cast<std::uint32_t>(members_.size())) {
    control.num_arrived.store(0, std::memory_order_relaxed);
    control.phase.store(phase + 1, std::memory_order_release);
    futex_wake_all(control.phase);
    return;
  }
  sleep_until_changed({control.phase, phase, kind, members_.world_ranks},
                      [&] { return missing_members(phase); });
}

void Meeting::wait_for_peer(FutexWord& word, std::uint32_t seen, Kind kind, int peer) {
  const std::vector<int> needed = {members_.world_ranks[static_cast<std::size_t>(peer)]};
  sleep_until_changed({word, seen, kind, needed}, [&] { return describe(peer); });
}

void Meeting::leave() noexcept { set_end(End::left, members_.world_rank()); }

std::string Meeting::describe(int member) const {
  return peers_->describe(members_.world_ranks[static_cast<std::size_t>(member)]);
}

void Meeting::sleep_until_changed(const Wait& wait, const std::function<std::string()>& missing) {
  for (int i = 0; i < kYields; ++i) {
    if (changed(wait.word, wait.seen)) return;
    std::this_thread::yield();
  }
  const auto deadline = std::chrono::steady_clock::now() + timeout_;
  while (!changed(wait.word, wait.seen)) {
    futex_wait(wait.word, wait.seen, kGlance);
    if (changed(wait.word, wait.seen)) return;
    glance(wait);
    if (std::chrono::steady_clock::now() < deadline) continue;
    set_end(End::gave_up, members_.world_rank());
    throw CommError(fmt::format("{} timed out after {}: {} did not arrive",
                                name(wait.kind),
                                to_string(timeout_),
                                missing()));
  }
}

/// Looks for reasons to stop waiting.
void Meeting::glance(const Wait& wait) {
  throw_if_ended(wait.kind);
  const std::optional<int> ended = peers_->find_ended(wait.needed);
  // It may have done its part just before it ended.
  if (!ended || changed(wait.word, wait.seen)) return;
  set_end(End::died, *ended);
  throw_if_ended(wait.kind);
}

void Meeting::set_end(End end, int world_rank) noexcept {
  Control& control = arena_.control();
  std::uint32_t none = 0;
  const std::uint32_t code =
      (static_cast<std::uint32_t>(end) << 24) | static_cast<std::uint32_t>(world_rank);
  // The first reason is the one that everybody reports.
  if (control.end.compare_exchange_strong(none, code)) futex_wake_all(control.phase);
}

void Meeting::throw_if_ended(Kind kind) const {
  const std::uint32_t code = arena_.control().end.load(std::memory_order_acquire);
  if (code == 0) return;
  const std::string who = peers_->describe(static_cast<int>(code & 0xffffff));
  switch (static_cast<End>(code >> 24)) {
    case End::died:
      throw CommError(fmt::format("{} ended during {}", who, name(kind)));
    case End::left:
      throw CommError(fmt::format("{} left the group during {}", who, name(kind)));
    case End::gave_up:
      throw CommError(fmt::format("{} gave up waiting; this rank was in {}", who, name(kind)));
    case End::none:
      break;
  }
}

std::string Meeting::missing_members(std::uint32_t phase) const {
  std::string list;
  for (int i = 0; i < members_.size(); ++i) {
    if (arena_.rank(i).arrived.load(std::memory_order_relaxed) == phase + 1) continue;
    list.append(list.empty() ? "" : ", ").append(describe(i));
  }
  return list;
}

}  // namespace sheaf::comm::shared
