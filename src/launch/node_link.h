#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "launch/endpoint.h"
#include "launch/failure.h"
#include "launch/messages.h"
#include "launch/store_host.h"
#include "sheaf/base/units.h"

namespace sheaf::launch {

struct NodeLinkOptions {
  Endpoint endpoint;
  int nodes = 2;
  int node_rank = 0;
  /// Tells this launcher from any other, such as "host, pid 4242".
  std::string name;
  /// Ranks that this node can start, at first.
  int ranks = 1;
  /// A launcher that has not been heard of for so long is gone.
  Seconds node_timeout{15};
  /// Node 0 hosts the store; the others connect to the endpoint.
  std::optional<StoreHost> store;
};

/// Carries what launchers of several nodes have to say through the store, from a thread of its own:
/// a store that is not there yet, or no longer, keeps nobody waiting here. What is said and what it
/// means is the councils' business; see Note [Generations].
class NodeLink {
 public:
  struct News {
    /// What the watched keys hold.
    std::map<std::string, std::string> values;
    /// The launchers that live; only node 0 looks.
    std::map<int, NodeState> nodes;
    /// The store was lost or never found, or this node is another's.
    std::optional<Failure> lost;
    /// All that was posted has arrived.
    bool delivered = false;
  };

  explicit NodeLink(NodeLinkOptions options);
  ~NodeLink();
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;

  /// Readable when there may be news.
  [[nodiscard]] int fd() const;
  [[nodiscard]] News take_news();
  /// Writes a key, in the order of calls.
  void post(const std::string& key, const std::string& value);
  /// Writes a key unless somebody has.
  void post_once(const std::string& key, const std::string& value);
  /// Says which keys are looked at from now on.
  void watch(std::vector<std::string> keys);
  /// Says how many ranks this node can start from now on.
  void announce(int ranks);
  /// Nothing more is to be delivered where the store is not there yet.
  void give_up();

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace sheaf::launch
