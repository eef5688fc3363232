#include "report.h"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <map>

#include "sheaf/base/table.h"
#include "sheaf/base/units.h"

namespace sheaf::comm {
namespace {

constexpr std::chrono::nanoseconds kSilence = std::chrono::seconds(1);
constexpr std::size_t kCallsOfALine = 4;

Seconds since(std::int64_t moment) { return std::chrono::nanoseconds(board_time() - moment); }

std::map<std::uint64_t, std::string> group_names(const RankPage& page) {
  std::map<std::uint64_t, std::string> names;
  for (const GroupPage& group : page.used_pages()) {
    const std::uint64_t id = group.group.load(std::memory_order_acquire);
    if (id != 0) names[id] = text_of(group.get_name());
  }
  return names;
}

std::string state_of(const CallRecord& call) {
  switch (call.state) {
    case CallState::running:
      return fmt::format("running for {}", to_string(since(call.began)));
    case CallState::done:
      return fmt::format("took {}",
                         to_string(Seconds(std::chrono::nanoseconds(call.ended - call.began))));
    case CallState::failed:
      return "failed";
  }
  return "";
}

/// Returns the letter that the kernel has for a process, such as T for one that is stopped; a space
/// where there is none.
char kernel_state(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  // The name before it may hold anything, but ends with the last bracket.
  const auto bracket = line.rfind(')');
  return bracket == std::string::npos || bracket + 2 >= line.size() ? ' ' : line[bracket + 2];
}

}  // namespace

std::string page_of_calls(const RankPage& page) {
  const auto names = group_names(page);
  Table table;
  table.add({"call", "began", "group", "exchange", "what", "state"});
  for (const CallRecord& call : page.last_calls()) {
    const auto group = names.find(call.group);
    table.add({fmt::format("{}", call.number),
               fmt::format("{:.3f} s ago", since(call.began).count()),
               group == names.end() ? "(ended)" : group->second,
               call.is_message() ? "-" : fmt::format("{}", call.exchange),
               describe(call),
               state_of(call)});
  }
  return table.str();
}

std::string line_of_calls(const RankPage& page) {
  const std::vector<CallRecord> calls = page.last_calls();
  std::string line;
  std::size_t named = 0;
  for (auto call = calls.rbegin(); call != calls.rend() && named < kCallsOfALine; ++call, ++named) {
    line += fmt::format(
        "{}{} ({})", named == 0 ? "" : "; before it ", describe(*call), state_of(*call));
  }
  return line.empty() ? "none" : line;
}

bool is_silent(const RankPage& page) {
  const std::int64_t heard = page.heard.load(std::memory_order_relaxed);
  return heard != 0 && page.standing.load() == Standing::running &&
         board_time() - heard > kSilence.count();
}

std::string condition_of(const Board& board, const Peers& peers, int world_rank) {
  const RankPage& page = board.rank(world_rank);
  if (peers.is_near(world_rank)) {
    const char state = kernel_state(peers.identity(world_rank).pid);
    if (state == 'T' || state == 't') return "is stopped by a signal";
    if (state == ' ' || state == 'Z' || state == 'X') return "is gone";
  }
  if (page.standing.load() == Standing::left) return "has ended";
  if (is_silent(page)) return "does not answer";
  return "is alive";
}

}  // namespace sheaf::comm
