#include "sheaf/comm/run_ranks.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <exception>
#include <mutex>
#include <numeric>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "compat.h"
#include "fake_backend.h"
#include "gloo_backend.h"
#include "group_state.h"
#include "mkl_start.h"
#include "peers.h"
#include "shared/world.h"
#include "sheaf/base/error.h"
#include "sheaf/base/log.h"
#include "watch/join.h"

namespace sheaf::comm {
namespace {

/// What the threads have in common.
struct Crew {
  int num_ranks;
  RunRanksOptions options;
  std::shared_ptr<Peers> peers;
  c10::intrusive_ptr<c10d::Store> store;
  std::shared_ptr<shared::Segment> segment;
  std::shared_ptr<Board> board;
  std::mutex mutex;
  std::exception_ptr first_error;
};

Members members_of(int rank, int num_ranks) {
  Members members{.rank = rank,
                  .world_ranks = std::vector<int>(static_cast<std::size_t>(num_ranks))};
  std::iota(members.world_ranks.begin(), members.world_ranks.end(), 0);
  return members;
}

Group join(Crew& crew, int rank) {
  Members members = members_of(rank, crew.num_ranks);
  std::unique_ptr<Backend> backend;
  switch (crew.options.backend) {
    case BackendKind::gloo:
      backend = std::make_unique<GlooBackend>(
          members, GlooOptions{crew.store, crew.peers, crew.options.timeout});
      break;
    case BackendKind::fake:
      backend = std::make_unique<FakeBackend>(members);
      break;
    default:
      backend = shared::join_threads(crew.segment,
                                     {.members = members,
                                      .peers = crew.peers,
                                      .store = crew.store,
                                      .timeout = crew.options.timeout});
  }
  // Of a dry run only one rank is there, whatever it calls.
  Lookout lookout;
  if (crew.options.backend != BackendKind::fake) {
    lookout = lookout_of_thread(
        crew.board,
        {.peers = crew.peers, .store = crew.store, .rank = rank, .watch = crew.options.watch});
  }
  return Group(std::make_shared<GroupState>(
      std::move(members),
      std::move(backend),
      Observers{.lookout = std::move(lookout), .interference = crew.options.interference}));
}

/// Returns the exception in flight with the rank in front of its message.
std::exception_ptr current_error_of(int rank) {
  const std::string prefix = fmt::format("rank {}: ", rank);
  try {
    throw;
  } catch (const Error& error) {
    return error.with_prefix(prefix);
  } catch (const c10::Error& error) {
    return std::make_exception_ptr(Error(prefix + error.what_without_backtrace()));
  } catch (const std::exception& error) {
    return std::make_exception_ptr(Error(prefix + error.what()));
  } catch (...) {
    return std::make_exception_ptr(Error(prefix + "an exception that is no std::exception"));
  }
}

void run_one(Crew& crew, int rank, const std::function<void(Group)>& body) {
  const log::ThreadRank named(rank);
  try {
    body(join(crew, rank));
  } catch (...) {
    const std::lock_guard lock(crew.mutex);
    if (!crew.first_error) crew.first_error = current_error_of(rank);
  }
  // Whoever still waits for this rank learns now that it will not come.
  crew.peers->set_ended(rank);
}

}  // namespace

void run_ranks(int num_ranks,
               const std::function<void(Group)>& body,
               const RunRanksOptions& options) {
  if (num_ranks < 1)
    throw UsageError(fmt::format("run_ranks needs at least 1 rank, got {}", num_ranks));
  if (options.backend == BackendKind::nccl || options.backend == BackendKind::one_gpu ||
      options.device == DeviceKind::cuda) {
    throw UsageError("run_ranks runs threads, which cannot be ranks on CUDA; use processes there");
  }
  Crew crew{.num_ranks = num_ranks,
            .options = options,
            .peers = std::make_shared<Peers>(num_ranks),
            .store = compat::memory_store(options.timeout),
            .segment = shared::thread_segment(num_ranks),
            .board = thread_board(num_ranks)};
  settle_mkl();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < num_ranks; ++rank) {
    threads.emplace_back([&crew, &body, rank] { run_one(crew, rank, body); });
  }
  for (std::thread& thread : threads) thread.join();
  if (crew.first_error) std::rethrow_exception(crew.first_error);
}

}  // namespace sheaf::comm
