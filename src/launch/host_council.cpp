#include "launch/host_council.h"

#include <algorithm>
#include <utility>

#include "sheaf/base/log.h"
#include "sheaf/launch/launcher.h"

namespace sheaf::launch {
namespace {

using namespace std::chrono_literals;

// How long nodes may take to come, at the start and where too few are left.
constexpr auto kGatherLimit = 300s;
// What launchers take beyond their ranks' time to end.
constexpr auto kMargin = 10s;

std::string key_of(const std::string& what, int generation) {
  return what + "/" + std::to_string(generation);
}
std::string end_key(int generation, int node) {
  return key_of("ended", generation) + "/" + std::to_string(node);
}
std::string gone_key(int node) { return "gone/" + std::to_string(node); }

}  // namespace

HostCouncil::HostCouncil(HostCouncilOptions options,
                         std::unique_ptr<NodeLink> link,
                         std::unique_ptr<RanksFile> file)
    : options_(std::move(options)),
      link_(std::move(link)),
      file_(std::move(file)),
      members_({.nodes = options_.nodes, .min_ranks = options_.min_ranks}),
      policy_(options_.restarts),
      limit_(Clock::now() + kGatherLimit) {
  members_.arrive(0, options_.name, options_.ranks);
}

void HostCouncil::add_to(std::vector<pollfd>& entries) const {
  if (link_) entries.push_back({.fd = link_->fd(), .events = POLLIN, .revents = 0});
  if (file_) entries.push_back({.fd = file_->fd(), .events = POLLIN, .revents = 0});
}

void HostCouncil::look() {
  look_at_file();
  if (link_) {
    news_ = link_->take_news();
    look_at_nodes();
    look_at_values();
    find_the_lost();
  }
  consider_regroup();
}

void HostCouncil::look_at_file() {
  const auto ranks = file_ ? file_->take_change() : std::nullopt;
  if (!ranks) return;
  // Leaving first gives slots that were left out another chance.
  members_.leave(0);
  members_.arrive(0, options_.name, *ranks);
}

void HostCouncil::look_at_nodes() {
  for (int node = 1; node < options_.nodes; ++node) {
    const auto found = news_.nodes.find(node);
    if (found == news_.nodes.end()) {
      members_.leave(node);
    } else {
      members_.arrive(node, found->second.launcher, found->second.ranks);
    }
  }
}

void HostCouncil::look_at_values() {
  if (is_gathering_) return;
  for (const auto& node : roster_.nodes) {
    const auto found = news_.values.find(end_key(roster_.generation, node.node));
    if (found != news_.values.end()) ends_[node.node] = decode_end(found->second);
  }
  const auto found = news_.values.find(key_of("failure", roster_.generation));
  if (found != news_.values.end()) note(decode_failure(found->second));
}

void HostCouncil::note(const Failure& failure) {
  if (failure_) return;
  failure_ = failure;
  if (ends_.contains(0)) limit_ = time_to_end();
}

// When nodes whose ranks were told to end have reported that they have.
HostCouncil::Clock::time_point HostCouncil::time_to_end() const {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(options_.signal_grace) +
         kMargin;
}

// A node whose launcher has gone, or is another one now, has lost its ranks.
void HostCouncil::find_the_lost() {
  if (is_gathering_ || verdict_ || failure_) return;
  for (const auto& node : roster_.nodes) {
    if (node.node == 0 || lives(node) || ends_.contains(node.node)) continue;
    report_failure({.code = 1,
                    .sentence = "node " + std::to_string(node.node) + " (" + node.launcher +
                                ") is gone: nothing was heard of its launcher"});
    return;
  }
}

void HostCouncil::consider_regroup() {
  if (is_gathering_ || verdict_ || failure_ || regroup_ || !ends_.empty()) return;
  const Roster wanted = members_.roster(roster_.generation);
  if (wanted.nodes == roster_.nodes || !members_.is_enough()) return;
  log::info("launch",
            "the ranks save and end, to go on as " + std::to_string(wanted.world_size()) +
                " instead of " + std::to_string(roster_.world_size()));
  regroup_ = true;
  if (link_) link_->post_once(key_of("regroup", roster_.generation), "yes");
}

bool HostCouncil::lives(const NodeSlots& node) const {
  const auto found = news_.nodes.find(node.node);
  return found != news_.nodes.end() && found->second.launcher == node.launcher;
}

void HostCouncil::report_failure(const Failure& failure) {
  note(failure);
  if (link_) link_->post_once(key_of("failure", roster_.generation), encode(failure));
}

void HostCouncil::report_end(const NodeEnd& end) {
  ends_[0] = end;
  // Others may work on for as long as they live.
  const bool done = end.code == 0 && !failure_;
  limit_ = done ? Clock::time_point::max() : time_to_end();
}

bool HostCouncil::all_ended() const {
  return std::all_of(roster_.nodes.begin(), roster_.nodes.end(), [&](const NodeSlots& node) {
    return ends_.contains(node.node) || (node.node != 0 && !lives(node));
  });
}

std::optional<Next> HostCouncil::next() {
  if (!verdict_ && !is_gathering_) decide();
  if (verdict_) return Next{.verdict = *verdict_};
  return is_gathering_ ? begin() : std::nullopt;
}

// Draws the conclusion from how a generation ended, once that is known of all nodes.
void HostCouncil::decide() {
  const bool is_late = Clock::now() >= *limit_;
  if (!all_ended() && !is_late) return;
  if (!all_ended()) {
    log::warning("launch", "goes on without waiting for nodes that have not reported their end");
  }
  std::int64_t furthest = -1;
  int code = 0;
  bool stopped = false;
  bool leaves = false;
  for (const auto& [node, end] : ends_) {
    furthest = std::max(furthest, end.furthest);
    if (code == 0) code = end.code;
    stopped = stopped || end.stopped;
    leaves = leaves || (end.stopped && end.code == kRequeueCode);
  }
  // A failure that another generation would have made good is left to the next start.
  const bool is_made_good = failure_ && leaves && !policy_.after(*failure_, furthest);
  if (is_made_good) return conclude({.code = kRequeueCode});
  if (stopped) return conclude({.code = failure_ ? failure_->code : code});
  if (failure_) return go_on_after_failure(furthest);
  if (code == 0 || !regroup_) return conclude({.code = code});
  is_gathering_ = true;
  limit_ = Clock::now() + kGatherLimit;
}

void HostCouncil::go_on_after_failure(std::int64_t furthest) {
  if (auto end = policy_.after(*failure_, furthest)) return conclude(std::move(*end));
  if (policy_.slot_is_bad() && members_.leave_out(failure_->node, failure_->slot)) {
    log::warning("launch",
                 "slot " + std::to_string(failure_->slot) + " of node " +
                     std::to_string(failure_->node) +
                     " is left out: its rank died twice without a step in between");
  }
  is_gathering_ = true;
  limit_ = Clock::now() + kGatherLimit;
}

// Begins the next generation as soon as enough nodes are there.
std::optional<Next> HostCouncil::begin() {
  const bool is_late = Clock::now() >= *limit_;
  // At the start all nodes are waited for; later on those that are there go on without the rest.
  const bool is_first = roster_.generation < 0;
  const bool ready = members_.is_enough() && (members_.is_complete() || !is_first || is_late);
  if (!ready && !is_late) return std::nullopt;
  if (!ready) {
    conclude({.code = 1,
              .sentence = "too few ranks are left; these nodes did not come within 5 min: " +
                          members_.missing()});
    return Next{.verdict = *verdict_};
  }
  roster_ = members_.roster(roster_.generation + 1);
  failure_.reset();
  regroup_ = false;
  ends_.clear();
  is_gathering_ = false;
  if (link_) {
    std::vector<std::string> keys{key_of("failure", roster_.generation)};
    for (const auto& node : roster_.nodes) keys.push_back(end_key(roster_.generation, node.node));
    link_->watch(std::move(keys));
    link_->post("roster", encode(roster_));
  }
  return Next{.roster = roster_};
}

void HostCouncil::conclude(Failure verdict) {
  verdict_ = std::move(verdict);
  if (!link_) return;
  std::vector<std::string> keys;
  for (int node = 1; node < options_.nodes; ++node) keys.push_back(gone_key(node));
  link_->watch(std::move(keys));
  link_->post_once("verdict", encode(*verdict_));
}

void HostCouncil::leave(const Failure& why) {
  if (!verdict_) conclude(why);
}

bool HostCouncil::is_settled() {
  if (!link_) return true;
  news_ = link_->take_news();
  return std::all_of(news_.nodes.begin(), news_.nodes.end(), [&](const auto& node) {
    return news_.values.contains(gone_key(node.first));
  });
}

}  // namespace sheaf::launch
