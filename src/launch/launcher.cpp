#include "sheaf/launch/launcher.h"

#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "base/cores.h"
#include "launch/endpoint.h"
#include "launch/environment.h"
#include "launch/gpus.h"
#include "launch/mps.h"
#include "launch/node_link.h"
#include "launch/store_host.h"
#include "launch/supervisor.h"
#include "sheaf/base/error.h"

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
}

std::vector<RankLog> open_logs(const LaunchOptions& options) {
  std::vector<RankLog> logs(static_cast<std::size_t>(options.ranks));
  if (options.log_dir.empty()) return logs;
  int rank = options.node_rank * options.ranks;
  for (auto& log : logs) log = open_rank_log(options.log_dir, rank++);
  return logs;
}

const std::string& run_folder(const LaunchOptions& options) {
  return options.run_dir.empty() ? options.log_dir : options.run_dir;
}

std::vector<std::string> inherited_environment(const MpsDaemon* mps) {
  std::vector<std::string> environment = current_environment();
  return mps == nullptr ? environment : with_variables(environment, mps->variables());
}

// Hosts the store where that is this node's part, and puts the port it took into `endpoint`.
std::optional<StoreHost> host_store(const LaunchOptions& options, Endpoint& endpoint) {
  if (options.node_rank != 0) return std::nullopt;
  const auto reach =
      options.endpoint.empty() ? StoreHost::Reach::this_machine : StoreHost::Reach::network;
  auto store = StoreHost::serve(endpoint, reach);
  endpoint.port = store.port();
  return store;
}

// Starts ranks that differ only in their place.
class RankStarter {
 public:
  // `program` has the environment that all ranks inherit.
  RankStarter(const LaunchOptions& options, RankProgram program, Terminal& terminal)
      : options_(options),
        program_(std::move(program)),
        terminal_(terminal),
        inherited_(program_.environment),
        cores_(usable_cores()) {}

  Rank start(const RankPlace& place, RankLog log) {
    const bool plain = options_.output == Output::first_rank_plain && place.rank() == 0;
    program_.environment = rank_environment(inherited_, place, cores_);
    program_.piped = !plain || log.file.is_open();
    const std::string prefix = plain ? "" : "[" + std::to_string(place.rank()) + "] ";
    Rank rank{place.rank(), RankProcess(program_), RankOutput(prefix, std::move(log), terminal_)};
    rank.output.attach(rank.process.take_stdout(), rank.process.take_stderr());
    return rank;
  }

 private:
  const LaunchOptions& options_;
  RankProgram program_;
  Terminal& terminal_;
  std::vector<std::string> inherited_;
  int cores_;
};

}  // namespace

int launch(const LaunchOptions& options) {
  check(options);
  Endpoint endpoint = options.endpoint.empty() ? Endpoint{} : parse_endpoint(options.endpoint);
  const std::string path = find_program(options.command.front());
  auto logs = open_logs(options);
  // The inbox comes before the store, whose threads are to inherit its mask.
  SignalInbox inbox;
  // Outlives the ranks, which use it.
  const std::unique_ptr<MpsDaemon> mps = start_mps({.mps = options.mps,
                                                    .ranks = options.ranks,
                                                    .gpus = count_gpus(),
                                                    .run_dir = run_folder(options)});
  const auto store = host_store(options, endpoint);

  Terminal terminal;
  Supervisor supervisor({.failure_grace = options.failure_grace,
                         .signal_grace = options.signal_grace,
                         .nodes = options.nodes,
                         .node_rank = options.node_rank},
                        inbox,
                        terminal);
  RankStarter starter(options,
                      {.path = path,
                       .arguments = options.command,
                       .environment = inherited_environment(mps.get()),
                       .piped = true,
                       .mask = inbox.previous_mask()},
                      terminal);
  RankPlace place{.local_rank = 0,
                  .local_ranks = options.ranks,
                  .node_rank = options.node_rank,
                  .nodes = options.nodes,
                  .endpoint = endpoint};
  for (auto& log : logs) {
    supervisor.add(starter.start(place, std::move(log)));
    ++place.local_rank;
  }
  std::optional<NodeLink> link;
  if (options.nodes > 1) {
    link.emplace(NodeLinkOptions{.endpoint = endpoint,
                                 .nodes = options.nodes,
                                 .node_rank = options.node_rank,
                                 .name = host_name() + ", pid " + std::to_string(::getpid()),
                                 .store = store});
  }
  return supervisor.run(link.has_value() ? &*link : nullptr);
}

}  // namespace sheaf::launch
