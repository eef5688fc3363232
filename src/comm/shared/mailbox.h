#pragma once

#include <cstddef>
#include <cstdint>

#include "meeting.h"

namespace sheaf::comm::shared {

struct Message {
  std::byte* data;
  std::size_t bytes;
  int tag;
};

/// Moves `message` through the channel to member `to`, cell by cell; blocks while the channel is
/// full.
void send(Meeting& meeting, const Message& message, int to);
/// Blocks until `message.data` holds what member `from` sent. Throws CommError when size or tag are
/// not what was expected.
void recv(Meeting& meeting, const Message& message, int from);

}  // namespace sheaf::comm::shared
