#include "cli/convert_command.h"

#include <fmt/format.h>

#include <ostream>

#include "cli/option_set.h"

namespace sheaf::cli {

void ConvertCommand::declare(OptionSet& options) {
  options.value("from", convert_.from, "folder of the model, as save_pretrained writes it");
  options.value("to", convert_.to, "folder to write");
  options.value("dtype", convert_.dtype, "type of the written weights");
  options.value("shard-size", convert_.shard_size, "most bytes in one file", at_least(1));
  options.flag("overwrite", convert_.overwrite, "replace a model that is there already");
}

int ConvertCommand::run(Console& console) {
  const hub::Converted done = hub::convert(convert_);
  console.out << fmt::format("{}: {} tensors, {} in {} file{}\n",
                             convert_.to,
                             done.tensors,
                             to_string(done.bytes),
                             done.files,
                             done.files == 1 ? "" : "s");
  return 0;
}

}  // namespace sheaf::cli
