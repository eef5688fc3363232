#include "launch/member_council.h"

#include <fmt/format.h>

#include <utility>

namespace sheaf::launch {

MemberCouncil::MemberCouncil(int node,
                             std::string name,
                             std::unique_ptr<NodeLink> link,
                             std::unique_ptr<RanksFile> file)
    : node_(node), name_(std::move(name)), link_(std::move(link)), file_(std::move(file)) {
  watch();
}

void MemberCouncil::add_to(std::vector<pollfd>& entries) const {
  entries.push_back({.fd = link_->fd(), .events = POLLIN, .revents = 0});
  if (file_) entries.push_back({.fd = file_->fd(), .events = POLLIN, .revents = 0});
}

void MemberCouncil::watch() {
  const std::string generation = std::to_string(generation_);
  link_->watch({"roster", "verdict", "failure/" + generation, "regroup/" + generation});
}

std::optional<std::string> MemberCouncil::value(const std::string& key) const {
  const auto found = news_.values.find(key);
  return found == news_.values.end() ? std::nullopt : std::optional(found->second);
}

void MemberCouncil::look() {
  if (const auto ranks = file_ ? file_->take_change() : std::nullopt) link_->announce(*ranks);
  news_ = link_->take_news();
  const std::string generation = std::to_string(generation_);
  if (news_.lost && !failure_) failure_ = news_.lost;
  if (const auto text = value("failure/" + generation); text && !failure_) {
    failure_ = decode_failure(*text);
  }
  if (value("regroup/" + generation)) regroup_ = true;
  if (const auto text = value("roster")) newest_ = decode_roster(*text);
  if (const auto text = value("verdict"); text && !verdict_) {
    verdict_ = decode_failure(*text);
    link_->post_once("gone/" + std::to_string(node_), "yes");
  }
  if (generation_ >= 0 && newest_.generation > generation_ && !failure_) {
    failure_ = Failure{.code = 1,
                       .sentence = fmt::format("node {} was given up by node 0, which did not hear "
                                               "of it for a while",
                                               node_)};
  }
}

void MemberCouncil::report_failure(const Failure& failure) {
  if (!failure_) failure_ = failure;
  link_->post_once("failure/" + std::to_string(generation_), encode(failure));
}

void MemberCouncil::report_end(const NodeEnd& end) {
  link_->post_once("ended/" + std::to_string(generation_) + "/" + std::to_string(node_),
                   encode(end));
}

std::optional<Next> MemberCouncil::next() {
  if (verdict_) return Next{.verdict = *verdict_};
  if (news_.lost) return Next{.verdict = *news_.lost};
  const NodeSlots* own = newest_.find(node_);
  if (newest_.generation <= generation_ || own == nullptr || own->launcher != name_) {
    return std::nullopt;
  }
  generation_ = newest_.generation;
  failure_.reset();
  regroup_ = false;
  watch();
  return Next{.roster = newest_};
}

void MemberCouncil::leave(const Failure& why) {
  if (!verdict_) verdict_ = why;
  link_->post_once("gone/" + std::to_string(node_), "yes");
  // A node without a part in any generation has nobody to tell, and node 0 may never come.
  has_given_up_ = generation_ < 0;
  if (has_given_up_) link_->give_up();
}

bool MemberCouncil::is_settled() {
  news_ = link_->take_news();
  return has_given_up_ || news_.lost || news_.delivered;
}

}  // namespace sheaf::launch
