#include "cli/watch_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <ostream>

#include "cli/option_set.h"
#include "sheaf/base/log.h"
#include "sheaf/train/interruption.h"
#include "study/watch/server.h"
#include "study/watch/watch.h"

namespace sheaf::cli {

void WatchCommand::declare(OptionSet& options) {
  options.positional("run", folder_, "log folder of a run (--log.dir)");
  options.value("port", port_, "port of the page; 0: any that is free", between(0, 65535));
  options.value("bind", address_, "address to listen on; others than 127.0.0.1 let strangers in");
}

int WatchCommand::run(Console& console) {
  if (!std::filesystem::is_directory(folder_)) {
    log::warning("watch", fmt::format("there is no folder {} yet: waiting for a run", folder_));
  }
  const train::InterruptionWatch interruption;
  study::Server server({.address = address_, .port = port_});
  study::WatchSite site(folder_);
  if (address_ != "127.0.0.1") {
    log::warning("watch", fmt::format("whoever reaches {} can read this run", address_));
  }
  console.out << fmt::format(
                     "http://{}:{}/ shows {}; Ctrl-C ends it\n", address_, server.port(), folder_)
              << std::flush;
  server.run([&](const study::Request& request) { return site.answer(request); },
             [&] { return interruption.requested().has_value(); });
  return 0;
}

}  // namespace sheaf::cli
