#include "cli/checkpoint_export_command.h"

#include <fmt/format.h>

#include <ostream>

#include "cli/checkpoint/find.h"
#include "cli/option_set.h"

namespace sheaf::cli {

void CheckpointExportCommand::declare(OptionSet& options) {
  options.positional("path", path_, "a checkpoint, or a run's folder, whose newest counts");
  options.positional("to", export_.to, "file or, for dcp, folder to write");
  options.value("format", export_.format, "what to write");
  options.value("part", export_.part, "weights alone, or all tensors");
}

int CheckpointExportCommand::run(Console& console) {
  const checkpoint::Exported exported =
      checkpoint::export_checkpoint(checkpoint::Reader(find_checkpoint(path_)), export_);
  console.out << fmt::format(
      "{}: {} tensors, {}\n", export_.to, exported.tensors, to_string(exported.bytes));
  return 0;
}

}  // namespace sheaf::cli
