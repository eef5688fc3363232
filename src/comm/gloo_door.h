#pragma once

#include <functional>
#include <vector>

namespace sheaf::comm {

/// Note [Gloo's door]: each gloo group listens on a port of its own for as long as it lives, takes
/// any connection, believes the first 8 bytes it sends, keeps a descriptor for each, and ends the
/// process when it has none left. It needs the port only until its members are connected. LibTorch
/// gives no handle to the socket, and gloo's event loop would not survive its end, so the socket
/// stays and is told to drop every packet (a socket filter, which needs no privilege): for a
/// stranger the port is then as if behind a firewall. What is connected is not concerned.
class GlooDoor {
 public:
  /// Runs `open`, which makes gloo listen, and remembers with which sockets.
  explicit GlooDoor(const std::function<void()>& open);

  /// Lets nobody in any more.
  void lock() const;

 private:
  std::vector<int> sockets_;
};

}  // namespace sheaf::comm
