#include "join.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "../compat.h"
#include "sheaf/base/error.h"
#include "sheaf/base/log.h"

namespace sheaf::comm {
namespace {

using shared::Ranks;
using shared::Segment;

std::string key_of(int first_rank) { return fmt::format("board/{}", first_rank); }

std::shared_ptr<Segment> make_for_others(const LookoutOptions& options, std::size_t bytes) {
  auto segment = Segment::create(Ranks::processes, bytes);
  const Segment::Ticket ticket = segment->ticket();
  std::vector<std::uint8_t> text(sizeof(ticket));
  std::memcpy(text.data(), ticket.data(), text.size());
  options.store->set(key_of(options.rank), text);
  return segment;
}

std::shared_ptr<Segment> open_from(int first_rank,
                                   const LookoutOptions& options,
                                   std::size_t bytes) {
  const std::vector<std::uint8_t> text = options.store->get(key_of(first_rank));
  Segment::Ticket ticket{};
  if (text.size() == sizeof(ticket)) std::memcpy(ticket.data(), text.data(), sizeof(ticket));
  return Segment::open(Ranks::processes, bytes, ticket);
}

std::shared_ptr<Segment> make_or_open(const std::vector<int>& host,
                                      const LookoutOptions& options,
                                      std::size_t bytes) {
  if (host.size() == 1) return Segment::create(Ranks::threads, bytes);
  try {
    return host.front() == options.rank ? make_for_others(options, bytes)
                                        : open_from(host.front(), options, bytes);
  } catch (const IoError& error) {
    log::warning("watch",
                 fmt::format("this rank's calls are not compared with others: {}", error.what()));
    return Segment::create(Ranks::threads, bytes);
  }
}

// Whoever carries pages has a connection of its own: the rank's may be in a wait that is long, and
// a watch that stands still meanwhile would look like a rank that does.
std::unique_ptr<FarPages> far_pages_of(std::shared_ptr<Board> board,
                                       const LookoutOptions& options) {
  FarPages::Setting setting{.board = std::move(board),
                            .store = nullptr,
                            .hosts = ranks_by_host(*options.peers),
                            .rank = options.rank};
  const auto carries = [&](const std::vector<int>& host) { return host.front() == options.rank; };
  if (std::ranges::any_of(setting.hosts, carries)) {
    setting.store = compat::prefixed("watch", options.store->clone());
  }
  return std::make_unique<FarPages>(std::move(setting));
}

Lookout made(std::shared_ptr<Board> board, const LookoutOptions& options, bool is_spread) {
  Lookout lookout{.board = board, .watch = nullptr, .check = options.watch.check};
  const bool has_peers = board->num_ranks() > 1;
  const bool needed =
      is_spread || options.watch.timeout > Seconds(0) || options.watch.end_process != nullptr;
  if (!has_peers || !needed) return lookout;
  Watch::Setting setting{.board = board,
                         .peers = options.peers,
                         .rank = options.rank,
                         .options = options.watch,
                         .far = nullptr};
  if (is_spread) setting.far = far_pages_of(board, options);
  lookout.watch = std::make_shared<Watch>(std::move(setting));
  return lookout;
}

}  // namespace

Lookout join_lookout(const LookoutOptions& options) {
  const std::vector<std::vector<int>> hosts = ranks_by_host(*options.peers);
  const auto own = std::ranges::find_if(hosts, [&](const std::vector<int>& host) {
    return std::ranges::find(host, options.rank) != host.end();
  });
  const int size = options.peers->size();
  auto board = std::make_shared<Board>(make_or_open(*own, options, Board::bytes(size)), size, *own);
  return made(std::move(board), options, hosts.size() > 1);
}

Lookout lookout_of_thread(std::shared_ptr<Board> board, const LookoutOptions& options) {
  return made(std::move(board), options, /*is_spread=*/false);
}

std::shared_ptr<Board> thread_board(int num_ranks) {
  std::vector<int> all(static_cast<std::size_t>(num_ranks));
  std::iota(all.begin(), all.end(), 0);
  return std::make_shared<Board>(
      Segment::create(Ranks::threads, Board::bytes(num_ranks)), num_ranks, std::move(all));
}

}  // namespace sheaf::comm
