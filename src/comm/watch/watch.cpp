#include "watch.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "report.h"
#include "sheaf/base/log.h"
#include "sheaf/base/units.h"
#include "stacks.h"

namespace sheaf::comm {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kArea = "watch";
// How often it looks, and how often hosts tell each other.
constexpr std::chrono::nanoseconds kPeriod = 100ms;
constexpr std::chrono::nanoseconds kFarPeriod = 300ms;
// Who has not looked for so long was stopped itself, and does not know what happened meanwhile.
constexpr std::chrono::nanoseconds kOwnAbsence = 1s;
// How long the rank that ends the run waits for the reports of the others.
constexpr std::chrono::nanoseconds kReportPatience = 1s;
constexpr std::chrono::seconds kEndPatience = 10s;

void write_file(const std::string& folder, int rank, const std::string& text) {
  const std::filesystem::path path =
      std::filesystem::path(folder) / fmt::format("watch-rank-{}.txt", rank);
  std::ofstream file(path);
  file << text;
  if (!file.flush()) log::warning(kArea, "no report could be written: " + path.string());
}

}  // namespace

Watch::Watch(Setting setting) : setting_(std::move(setting)) {
  RankPage& page = setting_.board->rank(setting_.rank);
  page.heard = board_time();
  page.standing = Standing::running;
  awake_since_ = last_look_ = board_time();
  thread_ = std::thread([this] { work(); });
}

Watch::~Watch() {
  stopping_ = true;
  setting_.board->wake();
  thread_.join();
  setting_.board->rank(setting_.rank).standing = Standing::left;
}

void Watch::add(const Watched& group) {
  const std::lock_guard lock(mutex_);
  groups_[group.log->id()] = group;
}

void Watch::remove(const GroupLog& log) {
  const std::lock_guard lock(mutex_);
  groups_.erase(log.id());
}

void Watch::await_end() const {
  if (setting_.options.end_process) std::this_thread::sleep_for(kEndPatience);
}

void Watch::work() {
  pthread_setname_np(pthread_self(), "sheaf-watch");
  const log::ThreadRank named(setting_.rank);
  while (!stopping_) {
    look();
    if (const auto verdict = setting_.board->verdict()) return conclude(*verdict);
    setting_.board->wait(kPeriod);
  }
}

void Watch::look() {
  const std::int64_t now = board_time();
  if (now - last_look_ > kOwnAbsence.count()) awake_since_ = now;
  last_look_ = now;
  setting_.board->rank(setting_.rank).heard = now;
  if (setting_.far && now >= far_due_) {
    setting_.far->exchange();
    // The time that the store took is no absence, and is to be a fifth of all time at most.
    const std::int64_t done = board_time();
    far_due_ = done + std::max<std::int64_t>(kFarPeriod.count(), 4 * (done - now));
    last_look_ = done;
    setting_.board->rank(setting_.rank).heard = done;
  }
  if (setting_.board->is_condemned()) return;
  auto found = find_disagreement();
  if (!found) found = find_hang();
  if (found) setting_.board->condemn({.finder = setting_.rank, .sentence = *found});
}

/// On one host the calls themselves compare, see Note [Who sees that ranks differ].
std::optional<std::string> Watch::find_disagreement() {
  if (!setting_.far || setting_.options.check == Check::off) return std::nullopt;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, group] : groups_) {
    if (auto found = group.log->disagreement(GroupLog::Range::all)) return found;
  }
  return std::nullopt;
}

std::optional<std::string> Watch::find_hang() {
  if (setting_.options.timeout <= Seconds(0)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  for (const CallRecord& call : setting_.board->rank(setting_.rank).last_calls()) {
    const auto group = groups_.find(call.group);
    if (group == groups_.end()) continue;
    const std::int64_t since = std::max(call.began, awake_since_);
    const Seconds waited = std::chrono::nanoseconds(board_time() - since);
    if (waited < setting_.options.timeout) continue;
    if (auto found = judge(call, group->second)) return found;
  }
  return std::nullopt;
}

/// Says who keeps a call waiting that began too long ago; nothing where nobody does.
std::optional<std::string> Watch::judge(const CallRecord& call, const Watched& group) const {
  const GroupLog& log = *group.log;
  const bool runs = call.state == CallState::running;
  if (!runs && (!group.stream_ordered || call.is_message())) return std::nullopt;
  std::vector<int> missing;
  if (call.is_message()) {
    missing.push_back(log.members().world_ranks[static_cast<std::size_t>(call.peer)]);
  } else {
    missing = log.not_begun(call.exchange);
  }
  // Of a call that has returned, only who has not begun it can be missed.
  for (const int rank : runs ? log.members().world_ranks : std::vector<int>()) {
    const bool is_listed = std::ranges::find(missing, rank) != missing.end();
    if (!is_listed && is_silent(setting_.board->rank(rank))) missing.push_back(rank);
  }
  if (group.stream_ordered) {
    // Nobody waits for who has left the group meanwhile: the call itself may be long over.
    std::erase_if(missing,
                  [&](int rank) { return setting_.board->rank(rank).find(log.id()) == nullptr; });
    if (missing.empty()) return std::nullopt;
  }
  const Seconds waited = std::chrono::nanoseconds(board_time() - call.began);
  const std::string which =
      call.is_message() ? "" : fmt::format(", exchange {} of group {},", call.exchange, log.name());
  return fmt::format("{}{} has waited {} for {}",
                     describe(call),
                     which,
                     to_string(waited),
                     describe_missing(missing));
}

std::string Watch::describe_missing(const std::vector<int>& ranks) const {
  if (ranks.empty()) return "the network: all ranks have arrived";
  std::string text;
  constexpr std::size_t kDescribed = 4;
  for (std::size_t i = 0; i < std::min(ranks.size(), kDescribed); ++i) {
    const auto last = setting_.board->rank(ranks[i]).last_call();
    text += fmt::format("{}{}, which {} and last called {}",
                        i == 0 ? "" : "; ",
                        setting_.peers->describe(ranks[i]),
                        condition_of(*setting_.board, *setting_.peers, ranks[i]),
                        last ? describe(*last) : "nothing");
  }
  if (ranks.size() > kDescribed) text += fmt::format("; {} more", ranks.size() - kDescribed);
  return text;
}

void Watch::conclude(const Verdict& verdict) {
  const bool is_finder = verdict.finder == setting_.rank;
  log::error(kArea,
             is_finder ? verdict.sentence
                       : fmt::format("rank {} ends the run: {}", verdict.finder, verdict.sentence));
  log::error(kArea,
             "last calls of this rank: " + line_of_calls(setting_.board->rank(setting_.rank)));
  write_reports(verdict);
  // The verdict has to reach the other hosts, too.
  if (setting_.far) setting_.far->exchange();
  setting_.board->rank(setting_.rank).standing = Standing::reported;
  if (is_finder) await_reports();
  if (setting_.options.end_process) setting_.options.end_process(verdict.sentence);
  const std::lock_guard lock(mutex_);
  for (const auto& [id, group] : groups_) group.let_go();
}

void Watch::write_reports(const Verdict& verdict) const {
  const std::string& folder = setting_.options.folder;
  if (folder.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  const RankPage& own = setting_.board->rank(setting_.rank);
  write_file(folder,
             setting_.rank,
             fmt::format("{}\n\nlast calls of rank {}\n{}\n{}",
                         verdict.sentence,
                         setting_.rank,
                         page_of_calls(own),
                         stacks_of_all_threads()));
  if (verdict.finder != setting_.rank) return;
  for (int rank = 0; rank < setting_.board->num_ranks(); ++rank) {
    const RankPage& page = setting_.board->rank(rank);
    if (rank == setting_.rank || !is_silent(page)) continue;
    const std::string condition = condition_of(*setting_.board, *setting_.peers, rank);
    log::error(kArea, fmt::format("last calls of rank {}: {}", rank, line_of_calls(page)));
    write_file(folder,
               rank,
               fmt::format("{}\n\nlast calls of rank {}, which {}, so that rank {} writes this\n{}",
                           verdict.sentence,
                           rank,
                           condition,
                           setting_.rank,
                           page_of_calls(page)));
  }
}

/// The others are ended with this rank, so they get a moment to write what they know.
void Watch::await_reports() const {
  const std::int64_t deadline = board_time() + kReportPatience.count();
  const auto is_late = [&] {
    for (int rank = 0; rank < setting_.board->num_ranks(); ++rank) {
      const RankPage& page = setting_.board->rank(rank);
      if (page.standing.load() == Standing::running && !is_silent(page)) return true;
    }
    return false;
  };
  while (is_late() && board_time() < deadline) std::this_thread::sleep_for(5ms);
}

}  // namespace sheaf::comm
