#include "accounts.h"

#include <algorithm>

#include "sheaf/memory/limit.h"

namespace sheaf::memory {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
// Purposes without an owner have the first accounts.
constexpr auto kNobodys = static_cast<Accounts::Number>(Purpose::temporary);

thread_local Accounts::Number account_of_thread = kNobodys;

}  // namespace

Accounts& accounts() {
  static auto* const instance = new Accounts;
  return *instance;
}

Accounts::Number current_account() { return account_of_thread; }

HeldFor::HeldFor(Purpose purpose, std::string_view owner) : outer_(account_of_thread) {
  account_of_thread = accounts().find_or_open(purpose, owner);
}

HeldFor::~HeldFor() { account_of_thread = outer_; }

Accounts::Accounts() {
  for (const Purpose purpose : all_purposes()) names_.push_back({purpose, ""});
}

Accounts::Number Accounts::find_or_open(Purpose purpose, std::string_view owner) {
  if (owner.empty()) return static_cast<Number>(purpose);
  std::pair key{purpose, std::string(owner)};
  const std::lock_guard lock(names_mutex_);
  const auto found = numbers_.find(key);
  if (found != numbers_.end()) return found->second;
  if (names_.size() == kMost) return static_cast<Number>(purpose);
  const auto number = static_cast<Number>(names_.size());
  names_.push_back({purpose, key.second});
  numbers_.emplace(std::move(key), number);
  return number;
}

void Accounts::require_room(std::int64_t bytes) {
  std::int64_t limit = limit_.load(kRelaxed);
  const std::int64_t in_use = current_.load(kRelaxed);
  if (limit == 0 || in_use + bytes <= limit || pauses_.load(kRelaxed) > 0) return;
  // Who comes second need not tell the same story.
  if (!limit_.compare_exchange_strong(limit, 0, kRelaxed)) return;
  throw OutOfMemory(
      {.wanted = {bytes}, .in_use = {in_use}, .limit = {limit}, .holders = holders()});
}

std::int64_t Accounts::change(Number account, std::int64_t bytes) {
  bytes_[account].fetch_add(bytes, kRelaxed);
  if (recording_.load(kRelaxed)) write_down(account, bytes);
  return current_.fetch_add(bytes, kRelaxed) + bytes;
}

std::int64_t Accounts::add(Number account, std::int64_t bytes) {
  const std::int64_t now = change(account, bytes);
  std::int64_t seen = peak_.load(kRelaxed);
  while (seen < now && !peak_.compare_exchange_weak(seen, now, kRelaxed)) {
  }
  return now;
}

CpuUsage Accounts::usage() const {
  const std::int64_t current = current_.load(kRelaxed);
  // Another thread may have allocated in the middle of a reset.
  return {.current = {current}, .peak = {std::max(current, peak_.load(kRelaxed))}, .reserved = {}};
}

void Accounts::reset_peak() { peak_.store(current_.load(kRelaxed), kRelaxed); }

std::vector<Holder> Accounts::all_holders() const {
  const std::lock_guard lock(names_mutex_);
  std::vector<Holder> all;
  all.reserve(names_.size());
  for (std::size_t i = 0; i < names_.size(); ++i) {
    all.push_back({names_[i].purpose, names_[i].owner, {bytes_[i].load(kRelaxed)}});
  }
  return all;
}

std::vector<Holder> Accounts::holders() const {
  std::vector<Holder> all = all_holders();
  std::erase_if(all, [](const Holder& holder) { return holder.bytes.count == 0; });
  return all;
}

void Accounts::start_timeline() {
  const std::lock_guard lock(timeline_mutex_);
  timeline_ = {.start = all_holders(), .events = {}};
  began_ = std::chrono::steady_clock::now();
  recording_ = true;
}

Timeline Accounts::stop_timeline() {
  const std::lock_guard lock(timeline_mutex_);
  recording_ = false;
  std::vector<Holder> now = all_holders();
  for (std::size_t i = timeline_.start.size(); i < now.size(); ++i) {
    now[i].bytes = {};
    timeline_.start.push_back(std::move(now[i]));
  }
  return std::exchange(timeline_, {});
}

void Accounts::write_down(Number account, std::int64_t bytes) {
  const std::lock_guard lock(timeline_mutex_);
  if (!recording_.load(kRelaxed)) return;
  timeline_.events.push_back({std::chrono::steady_clock::now() - began_, account, Bytes{bytes}});
}

std::vector<Holder> cpu_holders() { return accounts().holders(); }

void limit_cpu_tensors(Bytes limit) { accounts().set_limit(limit.count); }

LimitPause::LimitPause() { accounts().pause_limit(); }

LimitPause::~LimitPause() { accounts().resume_limit(); }

void start_timeline() { accounts().start_timeline(); }

Timeline stop_timeline() { return accounts().stop_timeline(); }

}  // namespace sheaf::memory
