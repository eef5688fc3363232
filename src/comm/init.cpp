#include "sheaf/comm/init.h"

#include <fmt/format.h>

#include <numeric>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "compat.h"
#include "environment.h"
#include "fake_backend.h"
#include "group_state.h"
#include "mkl_start.h"
#include "peers.h"
#include "sheaf/base/error.h"
#include "sheaf/base/log.h"
#include "store/client.h"
#include "store/server.h"
#include "world.h"

namespace sheaf::comm {
namespace {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

/// Serves the store that the other ranks join. Where a starter says that all are on this machine,
/// nobody else can reach it; otherwise it is on the interface of `address`.
std::shared_ptr<store::Server> serve_peers(const store::Address& address, const Place& place) {
  auto secret = store::Secret::from_environment(process_variable);
  try {
    auto listener = store::listen_at(
        address, place.one_host ? store::Reach::this_machine : store::Reach::network);
    if (secret.is_none() && !place.one_host) {
      log::warning("comm",
                   fmt::format("whoever reaches {} can join this run; with SHEAF_SECRET_FILE, the "
                               "same file of mode 600 for all ranks, only they can",
                               store::to_string(address)));
    }
    return std::make_shared<store::Server>(std::move(listener),
                                           store::ServerOptions{.secret = std::move(secret)});
  } catch (const UsageError& error) {
    log::debug("comm", error.what());
    throw CommError(fmt::format(
        "rank 0 cannot serve its peers at {}: is the port in use? Set MASTER_PORT to another",
        store::to_string(address)));
  }
}

/// Torchrun's store is LibTorch's own, which knows no secret.
StorePointer join_torchruns_store(const Place& place, Seconds timeout) try {
  return compat::tcp_store({place.host, place.port}, timeout);
} catch (const std::exception& error) {
  log::debug("comm", error.what());
  throw CommError(fmt::format("the launcher did not answer at {}:{} within {}",
                              place.host,
                              place.port,
                              to_string(timeout)));
}

StorePointer join_store(const Place& place, Seconds timeout) {
  if (place.starter_serves && !place.is_sheafs_store) return join_torchruns_store(place, timeout);
  store::ClientOptions options{
      .address = {place.host, place.port},
      .secret = store::Secret::from_environment(process_variable),
      .name = Identity::own().describe(place.rank),
      .timeout = std::chrono::duration_cast<std::chrono::milliseconds>(timeout),
      .silence = place.silence};
  if (!place.starter_serves) {
    if (place.one_host) options.address.host = "127.0.0.1";
    if (place.rank == 0) {
      options.server = serve_peers(options.address, place);
      options.address = options.server->address();
    }
  }
  const std::string address = store::to_string(options.address);
  try {
    return c10::make_intrusive<store::Client>(std::move(options));
  } catch (const CommError&) {
    throw CommError(fmt::format("{} did not answer at {} within {}",
                                place.starter_serves ? "the launcher" : "rank 0",
                                address,
                                to_string(timeout)));
  }
}

StorePointer open_store(const Place& place, const InitOptions& options) {
  if (place.size == 1) return compat::memory_store(options.join_timeout);
  if (options.store == StoreKind::tcp) return join_store(place, options.join_timeout);
  if (options.store_path.empty()) {
    throw UsageError("comm.store = \"file\" needs comm.store_path, a file that all ranks can see");
  }
  return compat::file_store(options.store_path, place.size, options.join_timeout);
}

}  // namespace

Group init(const InitOptions& options) {
  const Place place = read_environment(process_variable);
  settle_mkl();
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
