#include "cli/launch_command.h"

#include "cli/option_set.h"

namespace sheaf::cli {

void LaunchCommand::declare(OptionSet& options) {
  options.value("ranks", launch_.ranks, "ranks on this node", at_least(1));
  options.value("nodes", launch_.nodes, "machines that take part", at_least(1));
  options.value("node-rank", launch_.node_rank, "which of them this is, from 0", at_least(0));
  options.value("endpoint", launch_.endpoint, "HOST:PORT of node 0, with several nodes");
  options.value("secret-file",
                launch_.secret_file,
                "what all nodes know and strangers do not; a file of mode 600");
  options.flag("no-secret", launch_.no_secret, "let whoever reaches the endpoint join");
  options.value("node-timeout",
                launch_.node_timeout,
                "another node not heard of for that long counts as gone",
                at_least(1));
  options.value("log-dir", launch_.log_dir, "folder for one log file per rank");
  options.value("grace",
                launch_.signal_grace,
                "time ranks have to end after SIGINT, SIGTERM or SIGHUP",
                at_least(0));
  options.value("mps", launch_.mps, "let ranks that share a GPU run side by side (NVIDIA's MPS)");
  options.value("max-restarts",
                launch_.max_restarts,
                "times all ranks start again after one has failed",
                at_least(0));
  options.value("max-fruitless",
                launch_.max_fruitless,
                "failures in a row without a new step that end the job; 0: any number",
                at_least(0));
  options.value("min-ranks",
                launch_.min_ranks,
                "ranks of all nodes that go on when others cannot; 0: all are needed",
                at_least(0));
  options.value(
      "ranks-file", launch_.ranks_file, "file that says how many ranks this node has now");
  options.rest(launch_.command, "the program and its arguments");
}

int LaunchCommand::run(Console& /*console*/) { return launch::launch(launch_); }

}  // namespace sheaf::cli
