#include "world.h"

#include <fmt/format.h>

#include <cstring>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "shared_backend.h"
#include "sheaf/base/error.h"

namespace sheaf::comm::shared {
namespace {

std::vector<std::uint8_t> bytes_of(const Segment::Ticket& ticket) {
  std::vector<std::uint8_t> bytes(sizeof(ticket));
  std::memcpy(bytes.data(), ticket.data(), bytes.size());
  return bytes;
}

Segment::Ticket ticket_of(const std::vector<std::uint8_t>& bytes) {
  Segment::Ticket ticket{};
  if (bytes.size() == sizeof(ticket)) std::memcpy(ticket.data(), bytes.data(), sizeof(ticket));
  return ticket;
}

/// Rank 0 makes the segment, the others open it.
std::shared_ptr<Segment> make_or_open(const JoinOptions& options, std::size_t bytes) {
  if (options.members.rank != 0) {
    return Segment::open(Ranks::processes, bytes, ticket_of(options.store->get("ticket")));
  }
  try {
    auto segment = Segment::create(Ranks::processes, bytes);
    options.store->set("ticket", bytes_of(segment->ticket()));
    return segment;
  } catch (const Error&) {
    options.store->set("ticket", std::vector<std::uint8_t>{});
    throw;
  }
}

/// Tells everybody how it went here, and returns the first rank's trouble, if any had some.
std::string first_trouble(const JoinOptions& options, const std::string& own) {
  const auto key = [](int rank) { return fmt::format("trouble/{}", rank); };
  options.store->set(key(options.members.rank), own);
  for (int r = 0; r < options.members.size(); ++r) {
    const std::string trouble = options.store->get_to_str(key(r));
    if (!trouble.empty()) return fmt::format("rank {}: {}", r, trouble);
  }
  return {};
}

}  // namespace

std::variant<std::unique_ptr<Backend>, std::string> join_processes(const JoinOptions& options) {
  const ArenaOptions arena_options;
  const int size = options.members.size();
  std::shared_ptr<Segment> segment;
  std::string own;
  try {
    segment = make_or_open(options, Arena::bytes(size, arena_options));
  } catch (const Error& error) {
    own = error.what();
  }
  const std::string trouble = first_trouble(options, own);
  if (!trouble.empty()) return trouble;
  auto backend = std::make_unique<SharedBackend>(
      Ranks::processes,
      Meeting(
          Arena(segment, size, arena_options), options.members, options.peers, options.timeout));
  backend->barrier();
  segment->close_door();
  return backend;
}

std::unique_ptr<Backend> join_threads(std::shared_ptr<Segment> segment,
                                      const JoinOptions& options,
                                      const ArenaOptions& arena) {
  Arena own(std::move(segment), options.members.size(), arena);
  return std::make_unique<SharedBackend>(
      Ranks::threads, Meeting(std::move(own), options.members, options.peers, options.timeout));
}

std::shared_ptr<Segment> thread_segment(int num_ranks, const ArenaOptions& arena) {
  return Segment::create(Ranks::threads, Arena::bytes(num_ranks, arena));
}

}  // namespace sheaf::comm::shared
