#include "cli/launch_command.h"

#include "cli/option_set.h"

namespace sheaf::cli {

void LaunchCommand::declare(OptionSet& options) {
  options.value("ranks", launch_.ranks, "ranks on this node", at_least(1));
  options.value("nodes", launch_.nodes, "machines that take part", at_least(1));
  options.value("node-rank", launch_.node_rank, "which of them this is, from 0", at_least(0));
  options.value("endpoint", launch_.endpoint, "HOST:PORT of node 0, with several nodes");
  options.value("log-dir", launch_.log_dir, "folder for one log file per rank");
  options.value("grace",
                launch_.signal_grace,
                "time ranks have to end after SIGINT, SIGTERM or SIGHUP",
                at_least(0));
  options.value("mps", launch_.mps, "let ranks that share a GPU run side by side (NVIDIA's MPS)");
  options.rest(launch_.command, "the program and its arguments");
}

int LaunchCommand::run(Console& /*console*/) { return launch::launch(launch_); }

}  // namespace sheaf::cli
