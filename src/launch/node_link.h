#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "launch/endpoint.h"
#include "launch/file_descriptor.h"
#include "launch/store_host.h"

namespace sheaf::launch {

/// Why a job ended, and the exit code that every launcher returns for it.
struct Failure {
  int code = 1;
  std::string sentence;
};

struct NodeLinkOptions {
  Endpoint endpoint;
  int nodes = 2;
  int node_rank = 0;
  /// Tells this launcher from any other, such as "host, pid 4242".
  std::string name;
  /// Node 0 hosts the store; the others connect to the endpoint.
  std::optional<StoreHost> store;
};

/// Tells the launchers of several nodes how the others fare, through the store and from a thread of
/// its own: a store that is not there yet, or no longer, keeps nobody waiting here.
class NodeLink {
 public:
  struct News {
    /// The first failure of any node, or that the store was lost.
    std::optional<Failure> failure;
    /// What was reported has arrived and, on node 0, every other node has ended too.
    bool settled = false;
  };

  explicit NodeLink(NodeLinkOptions options);
  ~NodeLink();
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;

  /// Readable when there may be news.
  [[nodiscard]] int fd() const;
  [[nodiscard]] News take_news();
  /// Tells the others that this node failed. Only the first failure of a job counts.
  void report_failure(Failure failure);
  /// Tells the others that no rank of this node is left.
  void report_end();

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace sheaf::launch
