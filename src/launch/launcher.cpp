#include "sheaf/launch/launcher.h"

#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "base/cores.h"
#include "comm/store/secret.h"
#include "launch/endpoint.h"
#include "launch/environment.h"
#include "launch/gpus.h"
#include "launch/host_council.h"
#include "launch/intermission.h"
#include "launch/member_council.h"
#include "launch/mps.h"
#include "launch/node_link.h"
#include "launch/ranks_file.h"
#include "launch/store_host.h"
#include "launch/supervisor.h"
#include "sheaf/base/error.h"
#include "sheaf/base/log.h"

namespace sheaf::launch {
namespace {

void check(const LaunchOptions& options) {
  if (options.command.empty()) throw UsageError("there is no program to start");
  if (options.ranks < 1) {
    throw UsageError("the number of ranks must be at least 1, not " +
                     std::to_string(options.ranks));
  }
  if (options.nodes < 1) {
    throw UsageError("the number of nodes must be at least 1, not " +
                     std::to_string(options.nodes));
  }
  if (options.node_rank < 0 || options.node_rank >= options.nodes) {
    throw UsageError("the node rank must be from 0 to " + std::to_string(options.nodes - 1) +
                     ", not " + std::to_string(options.node_rank));
  }
  if (options.nodes > 1 && options.endpoint.empty()) {
    throw UsageError("several nodes need an endpoint, HOST:PORT of node 0");
  }
  const int all = options.ranks * options.nodes;
  if (options.min_ranks < 0 || options.min_ranks > all) {
    throw UsageError("--min-ranks must be from 1 to " + std::to_string(all) +
                     ", all that are started, not " + std::to_string(options.min_ranks));
  }
  if (!options.ranks_file.empty() && options.min_ranks == 0) {
    throw UsageError("--ranks-file needs --min-ranks, the fewest that the job may go on with");
  }
  if (options.no_secret && !options.secret_file.empty()) {
    throw UsageError("--secret-file and --no-secret exclude each other");
  }
}

const std::string& run_folder(const LaunchOptions& options) {
  return options.run_dir.empty() ? options.log_dir : options.run_dir;
}

std::vector<std::string> inherited_environment(const MpsDaemon* mps) {
  std::vector<std::string> environment = current_environment();
  return mps == nullptr ? environment : with_variables(environment, mps->variables());
}

// The secret of the job: that of the user's file, or a new one where no other node has to know it.
comm::store::Secret secret_of(const LaunchOptions& options) {
  using comm::store::Secret;
  if (options.no_secret) return {};
  if (!options.secret_file.empty()) return Secret::read(options.secret_file);
  if (options.nodes == 1) return Secret::random();
  const auto given = Secret::from_environment(comm::process_variable);
  if (!given.is_none()) return given;
  throw UsageError(
      "several nodes need --secret-file, the same file on each, since else whoever reaches the "
      "endpoint could join the run; --no-secret does without");
}

// One node has no business on any network, whatever the endpoint's name is.
Endpoint endpoint_of(const LaunchOptions& options) {
  Endpoint endpoint = options.endpoint.empty() ? Endpoint{} : parse_endpoint(options.endpoint);
  if (options.nodes == 1) endpoint.host = Endpoint{}.host;
  endpoint.secret = secret_of(options);
  endpoint.silence = std::chrono::duration_cast<std::chrono::milliseconds>(options.node_timeout);
  return endpoint;
}

// Hosts the store where that is this node's part, and puts the port it took into `endpoint`.
std::optional<StoreHost> host_store(const LaunchOptions& options, Endpoint& endpoint) {
  if (options.node_rank != 0) return std::nullopt;
  const auto reach =
      options.nodes == 1 ? StoreHost::Reach::this_machine : StoreHost::Reach::network;
  auto store = StoreHost::serve(endpoint, reach);
  endpoint.port = store.port();
  return store;
}

// Starts the ranks of this node, generation after generation.
class RankStarter {
 public:
  // `program` has the environment that all ranks inherit.
  RankStarter(const LaunchOptions& options, RankProgram program, Endpoint endpoint)
      : options_(options),
        program_(std::move(program)),
        endpoint_(std::move(endpoint)),
        inherited_(program_.environment),
        cores_(usable_cores()) {}

  // Adds the ranks of this node to `supervisor`, which reads their steps from `board`.
  void start(const Roster& roster,
             const ProgressBoard& board,
             Terminal& terminal,
             Supervisor& supervisor) {
    const NodeSlots& own = *roster.find(options_.node_rank);
    RankPlace place{.rank = roster.first_rank(options_.node_rank),
                    .world_size = roster.world_size(),
                    .local_ranks = static_cast<int>(own.slots.size()),
                    .node_rank = roster.position(options_.node_rank),
                    .nodes = static_cast<int>(roster.nodes.size()),
                    .generation = roster.generation,
                    .min_ranks = options_.min_ranks,
                    .max_restarts = options_.max_restarts,
                    .endpoint = endpoint_};
    program_.inherited = board.fd();
    int index = 0;
    for (const int slot : own.slots) {
      place.local_rank = slot;
      supervisor.add(start_one(place, board.ticket(index), terminal));
      ++place.rank;
      ++index;
    }
  }

 private:
  Rank start_one(const RankPlace& place, const std::string& ticket, Terminal& terminal) {
    RankLog log;
    if (!options_.log_dir.empty()) log = open_rank_log(options_.log_dir, place.rank);
    const bool plain = options_.output == Output::first_rank_plain && place.rank == 0;
    program_.environment =
        with_variables(rank_environment(inherited_, place, cores_), {{"SHEAF_PROGRESS", ticket}});
    program_.piped = !plain || log.file.is_open();
    const std::string prefix = plain ? "" : "[" + std::to_string(place.rank) + "] ";
    Rank rank{place.rank,
              place.local_rank,
              RankProcess(program_),
              RankOutput(prefix, std::move(log), terminal)};
    rank.output.attach(rank.process.take_stdout(), rank.process.take_stderr());
    return rank;
  }

  const LaunchOptions& options_;
  RankProgram program_;
  Endpoint endpoint_;
  std::vector<std::string> inherited_;
  int cores_;
};

std::unique_ptr<Council> make_council(const LaunchOptions& options,
                                      const Endpoint& endpoint,
                                      const std::optional<StoreHost>& store) {
  const std::string name = host_name() + ", pid " + std::to_string(::getpid());
  std::unique_ptr<RanksFile> file;
  if (!options.ranks_file.empty()) {
    const int least = options.nodes == 1 ? options.min_ranks : 1;
    file = std::make_unique<RanksFile>(options.ranks_file,
                                       RanksLimits{.least = least, .most = options.ranks});
  }
  std::unique_ptr<NodeLink> link;
  if (options.nodes > 1) {
    link = std::make_unique<NodeLink>(NodeLinkOptions{.endpoint = endpoint,
                                                      .nodes = options.nodes,
                                                      .node_rank = options.node_rank,
                                                      .name = name,
                                                      .ranks = options.ranks,
                                                      .node_timeout = options.node_timeout,
                                                      .store = store});
  }
  if (options.node_rank > 0) {
    log::info("launch", "waits for the launcher of node 0 at " + to_string(endpoint));
    return std::make_unique<MemberCouncil>(
        options.node_rank, name, std::move(link), std::move(file));
  }
  return std::make_unique<HostCouncil>(
      HostCouncilOptions{.name = name,
                         .nodes = options.nodes,
                         .ranks = options.ranks,
                         .min_ranks = options.min_ranks,
                         .restarts = {.max_restarts = options.max_restarts,
                                      .max_fruitless = options.max_fruitless},
                         .signal_grace = options.signal_grace},
      std::move(link),
      std::move(file));
}

// Runs one generation after another; returns the exit code of the job.
int run_generations(const LaunchOptions& options,
                    RankStarter& starter,
                    const IntermissionParts& parts) {
  std::string told;
  while (true) {
    const Next next = wait_for_next(parts);
    if (!next.roster) {
      const std::string& sentence = next.verdict.sentence;
      if (!sentence.empty() && sentence != told) log::error("launch", sentence);
      return next.verdict.code;
    }
    const Roster& roster = *next.roster;
    if (roster.generation > 0) {
      log::info("launch",
                "generation " + std::to_string(roster.generation) + " starts with " +
                    std::to_string(roster.world_size()) + " ranks");
    }
    const ProgressBoard board(static_cast<int>(roster.find(options.node_rank)->slots.size()));
    Supervisor supervisor({.failure_grace = options.failure_grace,
                           .signal_grace = options.signal_grace,
                           .node_rank = options.node_rank},
                          {parts.inbox, parts.terminal, parts.council, board});
    starter.start(roster, board, parts.terminal, supervisor);
    told = supervisor.run().told;
  }
}

}  // namespace

int launch(const LaunchOptions& options) {
  check(options);
  Endpoint endpoint = endpoint_of(options);
  const std::string path = find_program(options.command.front());
  // The inbox comes before the store, whose threads are to inherit its mask.
  SignalInbox inbox;
  // Outlives the ranks, which use it.
  const std::unique_ptr<MpsDaemon> mps = start_mps({.mps = options.mps,
                                                    .ranks = options.ranks,
                                                    .gpus = count_gpus(),
                                                    .run_dir = run_folder(options)});
  const auto store = host_store(options, endpoint);
  Terminal terminal;
  const auto council = make_council(options, endpoint, store);
  RankStarter starter(options,
                      {.path = path,
                       .arguments = options.command,
                       .environment = inherited_environment(mps.get()),
                       .piped = true,
                       .mask = inbox.previous_mask()},
                      endpoint);
  return run_generations(options, starter, {inbox, terminal, *council});
}

}  // namespace sheaf::launch
