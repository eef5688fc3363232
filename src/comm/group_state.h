#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "backend.h"
#include "lane.h"
#include "sheaf/base/recorder.h"
#include "sheaf/comm/traffic.h"
#include "sheaf/comm/watch.h"
#include "watch/group_log.h"
#include "watch/join.h"

namespace sheaf::comm {

/// Counts calls for one group and for the group it was split from.
class TrafficCounter {
 public:
  explicit TrafficCounter(std::shared_ptr<TrafficCounter> parent = nullptr)
      : parent_(std::move(parent)) {}

  void add(Kind kind, Purpose purpose, const Tally& tally);
  [[nodiscard]] Traffic read() const;

 private:
  std::shared_ptr<TrafficCounter> parent_;
  mutable std::mutex mutex_;
  Traffic traffic_;
};

/// Who writes down what a group does.
struct Observers {
  std::shared_ptr<TrafficCounter> traffic = std::make_shared<TrafficCounter>();
  Recorder recorder = {};
  /// The group's own name, the same on all its ranks.
  std::string name = "world";
  /// Empty where calls are not written down.
  Lookout lookout = {};
  /// Empty but in drills.
  Interference interference = nullptr;
};

/// What the copies of one Group share: the members, the backend and the order of calls.
class GroupState : public std::enable_shared_from_this<GroupState> {
 public:
  GroupState(Members members, std::unique_ptr<Backend> backend, Observers observers = {});
  ~GroupState();

  struct Request {
    Kind kind;
    Purpose purpose;
    Bytes bytes;
    at::ScalarType dtype = at::ScalarType::Undefined;
    /// The unit it is for; empty where it is for none.
    std::string_view unit = {};
    /// The peer of a message; -1 for collectives.
    int peer = -1;
    /// Of a broadcast; -1 for others.
    int root = -1;
  };
  /// Queues `body` behind earlier calls of its kind (see Backend) and counts it.
  Work submit(const Request& request, std::function<void(Backend&)> body);

  [[nodiscard]] const Members& members() const { return members_; }
  [[nodiscard]] Backend& backend() { return *backend_; }
  [[nodiscard]] const Observers& observers() const { return observers_; }
  /// Returns a name for the next group split from this one.
  [[nodiscard]] std::string next_split_name(int color);

 private:
  [[nodiscard]] Lane& lane_for(const Request& request);
  [[nodiscard]] Span span_of(const Request& request);
  /// Tells whether a drill lets this rank make the call, after what delay.
  [[nodiscard]] bool is_dropped(const Request& request) const;
  void run_in_stream(const Request& request, const std::function<void(Backend&)>& body);
  void run_noted(const CallRecord& call, const std::function<void(Backend&)>& body);
  void compare(const CallRecord& call);
  [[noreturn]] void give_up(const std::string& sentence);

  Members members_;
  Observers observers_;
  std::unique_ptr<Backend> backend_;
  Label label_;
  /// Null where calls are not written down.
  std::unique_ptr<GroupLog> log_;
  /// Collectives so far, which are the same on all ranks.
  std::atomic<std::int64_t> calls_ = 0;
  int num_splits_ = 0;
  std::mutex message_lanes_mutex_;
  /// Messages wait for one peer only, so each peer and direction has a lane of its own.
  std::map<std::pair<Kind, int>, Lane> message_lanes_;
  Lane collectives_;
};

/// One call on a group, as its Work sees it.
struct Call {
  /// Keeps the lane alive.
  std::shared_ptr<GroupState> group;
  Lane* lane = nullptr;
  std::shared_ptr<Lane::Task> task;
  Kind kind;
  Purpose purpose;
  Label unit = 0;
};

}  // namespace sheaf::comm
