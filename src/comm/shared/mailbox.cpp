#include "mailbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sheaf/base/error.h"
#include "stage.h"

namespace sheaf::comm::shared {
namespace {

/// The first cell of a message holds this alone.
struct Head {
  std::uint64_t bytes;
  std::int64_t tag;
};

/// Returns the next free cell of the channel from this rank, once there is one.
std::byte* free_cell(Meeting& meeting, int to) {
  const Arena& arena = meeting.arena();
  const int me = meeting.members().rank;
  Channel& channel = arena.channel(me, to);
  const std::uint32_t written = channel.written.load(std::memory_order_relaxed);
  while (true) {
    const std::uint32_t read = channel.read.load(std::memory_order_acquire);
    if (written - read < arena.options().num_cells) return arena.cell(me, to, written);
    meeting.wait_for_peer(channel.read, read, Kind::send, to);
  }
}

/// Returns the oldest unread cell of the channel to this rank, once there is one.
const std::byte* full_cell(Meeting& meeting, int from) {
  const Arena& arena = meeting.arena();
  const int me = meeting.members().rank;
  Channel& channel = arena.channel(from, me);
  const std::uint32_t read = channel.read.load(std::memory_order_relaxed);
  while (true) {
    const std::uint32_t written = channel.written.load(std::memory_order_acquire);
    if (written != read) return arena.cell(from, me, read);
    meeting.wait_for_peer(channel.written, written, Kind::recv, from);
  }
}

void advance(FutexWord& count) {
  count.fetch_add(1, std::memory_order_release);
  futex_wake_all(count);
}

}  // namespace

void send(Meeting& meeting, const Message& message, int to) {
  Channel& channel = meeting.arena().channel(meeting.members().rank, to);
  const Head head{message.bytes, message.tag};
  std::memcpy(free_cell(meeting, to), &head, sizeof(head));
  advance(channel.written);
  const std::size_t cell_bytes = meeting.arena().options().cell_bytes;
  for (std::size_t done = 0; done < message.bytes; done += cell_bytes) {
    const std::size_t part = std::min(cell_bytes, message.bytes - done);
    copy_bytes(free_cell(meeting, to), message.data + done, part);
    advance(channel.written);
  }
}

void recv(Meeting& meeting, const Message& message, int from) {
  Channel& channel = meeting.arena().channel(from, meeting.members().rank);
  Head head{};
  std::memcpy(&head, full_cell(meeting, from), sizeof(head));
  advance(channel.read);
  if (head.bytes != message.bytes || head.tag != message.tag) {
    meeting.leave();
    throw CommError(
        fmt::format("recv expected {} bytes with tag {}, but {} sent {} bytes with tag {}",
                    message.bytes,
                    message.tag,
                    meeting.describe(from),
                    head.bytes,
                    head.tag));
  }
  const std::size_t cell_bytes = meeting.arena().options().cell_bytes;
  for (std::size_t done = 0; done < message.bytes; done += cell_bytes) {
    const std::size_t part = std::min(cell_bytes, message.bytes - done);
    copy_bytes(message.data + done, full_cell(meeting, from), part);
    advance(channel.read);
  }
}

}  // namespace sheaf::comm::shared
