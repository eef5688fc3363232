#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/file_descriptor.h"

namespace sheaf::comm::store {

struct Address {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
};

/// Writes host:port, with brackets around an IPv6 address.
[[nodiscard]] std::string to_string(const Address& address);

/// Who is to reach a store.
enum class Reach { this_machine, network };

struct Listener {
  FileDescriptor socket;
  /// Where this machine itself reaches it.
  Address address;
  /// Listens on all interfaces, because the host's name does not say on which.
  bool everywhere = false;
};

/// Listens on 127.0.0.1, or on the interface that has the address of the host. Where the host's
/// name means no interface of this machine, or loopback though others are to come (as Debian's
/// /etc/hosts has it), on all of them. A port of 0 takes a free one. Throws UsageError if the port
/// is not to be had.
[[nodiscard]] Listener listen_at(const Address& address, Reach reach);

/// Connects within that time; not open where nobody answers.
[[nodiscard]] FileDescriptor connect_to(const Address& address, std::chrono::milliseconds timeout);

/// Breaks the connection when the other machine has not answered for that long, whether or not
/// anything was sent.
void break_after_silence(const FileDescriptor& socket, std::chrono::milliseconds silence);

/// Raises this process's limit of open files to what the system allows when half of it is used: a
/// store of a thousand ranks needs more than the 1024 that are usual, and what else the process
/// opens must not be what fails.
void keep_descriptors_free(const FileDescriptor& newest);

/// Returns the address of this machine's end of a connection; empty where there is none.
[[nodiscard]] std::string own_host_of(const FileDescriptor& socket);

/// Writes where a connection comes from, such as "10.0.0.2:4242".
[[nodiscard]] std::string peer_of(const FileDescriptor& socket);

}  // namespace sheaf::comm::store
