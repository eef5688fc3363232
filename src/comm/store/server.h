#pragma once

#include <chrono>
#include <memory>
#include <thread>

#include "secret.h"
#include "sockets.h"

namespace sheaf::comm::store {

struct ServerOptions {
  /// Without it whoever speaks the protocol may join.
  Secret secret{};
  /// A joiner whose machine has not answered for that long counts as lost.
  std::chrono::milliseconds silence{15'000};
};

/// Serves one store from a thread of its own, to whoever knows the secret.
///
/// Note [Strangers]: anybody may connect, and nothing that a stranger sends reaches the table: it
/// has 5 seconds and 72 bytes for the greeting, at most 64 greet at a time (the oldest makes way,
/// and a joiner that had to tries again), and a descriptor that cannot be had is no reason to end.
class Server {
 public:
  Server(Listener listener, ServerOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Returns where this machine itself reaches it.
  [[nodiscard]] const Address& address() const { return address_; }

 private:
  class Loop;

  Address address_;
  std::unique_ptr<Loop> loop_;
  std::thread thread_;
};

}  // namespace sheaf::comm::store
