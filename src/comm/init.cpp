#include "sheaf/comm/init.h"

#include <fmt/format.h>

#include <numeric>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "compat.h"
#include "environment.h"
#include "fake_backend.h"
#include "group_state.h"
#include "sheaf/base/error.h"
#include "sheaf/base/log.h"
#include "world.h"

namespace sheaf::comm {
namespace {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

StorePointer open_tcp_store(const Place& place, Seconds timeout) {
  const bool serve = place.rank == 0 && !place.starter_serves;
  const std::string address = fmt::format("{}:{}", place.host, place.port);
  try {
    return compat::tcp_store({place.host, place.port}, serve, timeout);
  } catch (const std::exception& error) {
    log::debug("comm", error.what());
    if (serve) {
      throw CommError(fmt::format(
          "rank 0 cannot serve its peers at {}: is the port in use? Set MASTER_PORT to another",
          address));
    }
    throw CommError(fmt::format("{} did not answer at {} within {}",
                                place.starter_serves ? "the launcher" : "rank 0",
                                address,
                                to_string(timeout)));
  }
}

StorePointer open_store(const Place& place, const InitOptions& options) {
  if (place.size == 1) return compat::memory_store(options.join_timeout);
  if (options.store == StoreKind::tcp) return open_tcp_store(place, options.join_timeout);
  if (options.store_path.empty()) {
    throw UsageError("comm.store = \"file\" needs comm.store_path, a file that all ranks can see");
  }
  return compat::file_store(options.store_path, place.size, options.join_timeout);
}

}  // namespace

Group init(const InitOptions& options) {
  const Place place = read_environment(process_variable);
  if (place.size > 1) log::set_process_rank(place.rank);
  if (options.backend == BackendKind::fake) return fake_group(place.size, place.rank);
  StorePointer store = compat::prefixed("sheaf/" + place.generation, open_store(place, options));
  return form_world(place, std::move(store), options);
}

Group fake_group(int size, int rank) {
  if (size < 1 || rank < 0 || rank >= size) {
    throw UsageError(
        fmt::format("a fake group needs a rank from 0 to size - 1, got rank {} of {}", rank, size));
  }
  Members members{.rank = rank, .world_ranks = std::vector<int>(static_cast<std::size_t>(size))};
  std::iota(members.world_ranks.begin(), members.world_ranks.end(), 0);
  auto backend = std::make_unique<FakeBackend>(members);
  return Group(std::make_shared<GroupState>(std::move(members), std::move(backend)));
}

}  // namespace sheaf::comm
