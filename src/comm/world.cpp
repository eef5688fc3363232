#include "world.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <numeric>
#include <set>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <variant>

#include "compat.h"
#include "devices.h"
#include "fake_backend.h"
#include "gloo_backend.h"
#include "group_state.h"
#include "nccl_backend.h"
#include "one_gpu/join.h"
#include "peers.h"
#include "shared/world.h"
#include "sheaf/base/error.h"
#include "sheaf/base/log.h"
#include "watch/join.h"

namespace sheaf::comm {
namespace {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

std::string key_of(int rank) { return fmt::format("rank/{}", rank); }

std::string missing_ranks(const StorePointer& store, int size) {
  std::string list;
  for (int r = 0; r < size; ++r) {
    if (store->check({key_of(r)})) continue;
    list += fmt::format("{}{}", list.empty() ? "" : ", ", r);
  }
  return list;
}

/// Says where this rank is and waits until all others have; throws CommError that names who is
/// missing.
std::shared_ptr<Peers> meet_peers(const Place& place, const StorePointer& store, Seconds timeout) {
  store->set(key_of(place.rank), Identity::own().str());
  std::vector<std::string> keys;
  for (int r = 0; r < place.size; ++r) keys.push_back(key_of(r));
  try {
    store->wait(keys, std::chrono::duration_cast<std::chrono::milliseconds>(timeout));
  } catch (const c10::Error&) {
    const std::string missing = missing_ranks(store, place.size);
    if (missing.empty()) throw;
    throw CommError(fmt::format("{} of {} ranks did not arrive within {}: {}",
                                std::count(missing.begin(), missing.end(), ',') + 1,
                                place.size,
                                to_string(timeout),
                                missing));
  }
  std::vector<Identity> identities;
  for (const std::string& key : keys) identities.push_back(Identity::parse(store->get_to_str(key)));
  return std::make_shared<Peers>(std::move(identities));
}

Members everybody(const Place& place) {
  Members members{.rank = place.rank,
                  .world_ranks = std::vector<int>(static_cast<std::size_t>(place.size))};
  std::iota(members.world_ranks.begin(), members.world_ranks.end(), 0);
  return members;
}

struct Formation {
  const Place& place;
  const InitOptions& options;
  StorePointer store;
  std::shared_ptr<Peers> peers;
};

/// Which GPUs the ranks use.
enum class GpuUse {
  /// A GPU for each.
  own,
  /// All the same one.
  one,
  /// Some share one.
  mixed
};

GpuUse find_gpu_use(const Formation& formation) {
  const auto key = [](int rank) { return fmt::format("gpu/{}", rank); };
  formation.store->set(key(formation.place.rank), identity_of_gpu(gpu_of(formation.place).index()));
  std::set<std::string> distinct;
  for (int r = 0; r < formation.place.size; ++r) {
    distinct.insert(formation.store->get_to_str(key(r)));
  }
  if (static_cast<int>(distinct.size()) == formation.place.size) return GpuUse::own;
  return distinct.size() == 1 ? GpuUse::one : GpuUse::mixed;
}

BackendKind choose_for_cuda(const Formation& formation) {
  const BackendKind asked = formation.options.backend;
  if (asked == BackendKind::shared) {
    throw UsageError("the shared backend is for the CPU; on CUDA use nccl, one_gpu or gloo");
  }
  if (asked == BackendKind::gloo || asked == BackendKind::fake) return asked;
  const GpuUse use = find_gpu_use(formation);
  if (asked == BackendKind::one_gpu && use != GpuUse::one && formation.place.size > 1) {
    throw UsageError("the one_gpu backend needs all ranks on the same GPU; for several use nccl");
  }
  if (asked == BackendKind::automatic && use == GpuUse::one) return BackendKind::one_gpu;
  if (asked == BackendKind::one_gpu) return asked;
  if (use != GpuUse::own) {
    throw UsageError(
        fmt::format("nccl needs a GPU for every rank, this host has {} ranks and {} GPUs; {} works "
                    "with fewer",
                    formation.place.local_size,
                    at::detail::getCUDAHooks().deviceCount(),
                    use == GpuUse::one ? "one_gpu" : "gloo"));
  }
  return BackendKind::nccl;
}

/// The one place where a backend is chosen: by option, device and host.
BackendKind choose(const Formation& formation) {
  const BackendKind asked = formation.options.backend;
  if (formation.options.device == DeviceKind::cuda) return choose_for_cuda(formation);
  if (asked == BackendKind::automatic) {
    return formation.peers->one_host() ? BackendKind::shared : BackendKind::gloo;
  }
  if (asked == BackendKind::nccl || asked == BackendKind::one_gpu) {
    throw UsageError(fmt::format("the {} backend is for CUDA; on the CPU use shared or gloo",
                                 asked == BackendKind::nccl ? "nccl" : "one_gpu"));
  }
  if (asked == BackendKind::shared && !formation.peers->one_host()) {
    throw UsageError("the shared backend needs all ranks on one host; use gloo between hosts");
  }
  return asked;
}

std::unique_ptr<Backend> make_gloo(const Formation& formation) {
  auto backend = std::make_unique<GlooBackend>(
      everybody(formation.place),
      GlooOptions{formation.store, formation.peers, formation.options.timeout});
  backend->barrier();  // the store's server may go only after all have connected
  return backend;
}

std::unique_ptr<Backend> make_nccl(const Formation& formation) {
  // NCCL listens too; on one host nobody else is to reach it. A user's choice stays.
  if (formation.peers->one_host()) setenv("NCCL_SOCKET_IFNAME", "lo", /*overwrite=*/0);
  const at::Device device = gpu_of(formation.place);
  auto backend = std::make_unique<NcclBackend>(
      everybody(formation.place), NcclOptions{formation.store, device, formation.options.timeout});
  backend->barrier();
  return backend;
}

/// Returns a sentence instead where ranks cannot share memory.
std::variant<std::unique_ptr<Backend>, std::string> join_host(const Formation& formation) {
  const shared::JoinOptions join{.members = everybody(formation.place),
                                 .peers = formation.peers,
                                 .store = formation.store,
                                 .timeout = formation.options.timeout};
  if (formation.place.size == 1) return shared::join_threads(shared::thread_segment(1), join);
  return shared::join_processes(join);
}

std::unique_ptr<Backend> make_one_gpu(const Formation& formation) {
  auto host = join_host(formation);
  if (const auto* trouble = std::get_if<std::string>(&host)) {
    throw CommError("ranks cannot share memory: " + *trouble);
  }
  return one_gpu::join(std::get<std::unique_ptr<Backend>>(std::move(host)),
                       {.members = everybody(formation.place),
                        .peers = formation.peers,
                        .device = gpu_of(formation.place),
                        .timeout = formation.options.timeout});
}

std::unique_ptr<Backend> make_shared_memory(const Formation& formation) {
  auto result = join_host(formation);
  if (auto* backend = std::get_if<std::unique_ptr<Backend>>(&result)) return std::move(*backend);
  const std::string& trouble = std::get<std::string>(result);
  if (formation.options.backend == BackendKind::shared) {
    throw CommError("ranks cannot share memory: " + trouble);
  }
  if (formation.place.rank == 0) {
    log::warning("comm",
                 "ranks cannot share memory, so they use gloo, which is slower: " + trouble);
  }
  return make_gloo(formation);
}

std::unique_ptr<Backend> make_backend(const Formation& formation) {
  const BackendKind kind = choose(formation);
  // From here on "cuda" means this rank's GPU.
  if (formation.options.device == DeviceKind::cuda) {
    c10::impl::VirtualGuardImpl(at::kCUDA).setDevice(gpu_of(formation.place));
  }
  switch (kind) {
    case BackendKind::gloo:
      return make_gloo(formation);
    case BackendKind::nccl:
      return make_nccl(formation);
    case BackendKind::one_gpu:
      return make_one_gpu(formation);
    case BackendKind::fake:
      return std::make_unique<FakeBackend>(everybody(formation.place));
    default:
      return make_shared_memory(formation);
  }
}

}  // namespace

at::Device gpu_of(const Place& place) {
  const int count = static_cast<int>(at::detail::getCUDAHooks().deviceCount());
  if (count == 0) throw UsageError("comm.device is cuda, but there is no CUDA device here");
  return {at::kCUDA, static_cast<at::DeviceIndex>(place.local_rank % count)};
}

Group form_world(const Place& place, StorePointer store, const InitOptions& options) {
  // A program may join more than once; each time has keys of its own.
  const std::int64_t round = store->add(fmt::format("round/{}", place.rank), 1);
  store = compat::prefixed(fmt::format("round{}", round), std::move(store));
  std::shared_ptr<Peers> peers = meet_peers(place, store, options.join_timeout);
  Lookout lookout =
      join_lookout({.peers = peers, .store = store, .rank = place.rank, .watch = options.watch});
  std::unique_ptr<Backend> backend = make_backend({place, options, store, peers});
  return Group(std::make_shared<GroupState>(
      everybody(place),
      std::move(backend),
      Observers{.lookout = std::move(lookout), .interference = options.interference}));
}

}  // namespace sheaf::comm
