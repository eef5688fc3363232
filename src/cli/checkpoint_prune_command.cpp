#include "cli/checkpoint_prune_command.h"

#include <fmt/format.h>

#include <ostream>

#include "checkpoint/disk.h"
#include "cli/option_set.h"
#include "sheaf/base/error.h"
#include "sheaf/checkpoint/damaged.h"
#include "sheaf/checkpoint/reader.h"
#include "train/run_record.h"

namespace sheaf::cli {
namespace {

using checkpoint::Scored;

/// Returns the checkpoints that can be loaded, as far as a look at their files tells; others are
/// neither counted nor removed.
std::vector<Scored> good_ones(const std::string& folder, std::ostream& out) {
  std::vector<Scored> all;
  for (const std::int64_t step : checkpoint::steps_in(folder)) {
    try {
      const auto reader = checkpoint::open_step(checkpoint::path_of_step(folder, step));
      all.push_back({step, train::saved_evaluation(reader.manifest().run)});
    } catch (const checkpoint::Damaged& damaged) {
      out << "damaged, left as it is: " << damaged.what() << "\n";
    } catch (const checkpoint::UnknownVersion& version) {
      out << "left as it is: " << version.what() << "\n";
    }
  }
  return all;
}

/// Nothing is removed before the newest has been read in full.
void verify(const std::string& path) {
  checkpoint::Reader(path).verify([](const std::string& problem) {
    throw Error("nothing was removed, because the newest checkpoint is damaged: " + problem);
  });
}

}  // namespace

void CheckpointPruneCommand::declare(OptionSet& options) {
  options.positional("path", path_, "a run's folder of checkpoints");
  options.value("keep", keep_.last, "newest ones that are kept", at_least(1));
  options.value("keep-every", keep_.every, "keep multiples of this step, too", at_least(0));
  options.flag("keep-best", keep_.best, "keep the lowest evaluation loss, too");
  options.flag("dry-run", dry_run_, "only say what would be removed");
}

int CheckpointPruneCommand::run(Console& console) {
  if (checkpoint::steps_in(path_).empty()) {
    throw UsageError("there are no checkpoints in " + path_);
  }
  const checkpoint::FolderLock lock(path_);
  const std::vector<Scored> all = good_ones(path_, console.out);
  if (all.empty())
    throw Error("no checkpoint in this folder is whole, so none is removed: " + path_);
  verify(checkpoint::path_of_step(path_, all.back().step));
  checkpoint::Disk disk;
  for (const std::int64_t step : checkpoint::steps_to_remove(all, keep_)) {
    if (!dry_run_) checkpoint::remove_checkpoint(path_, step, disk);
    console.out << fmt::format(
        "{} {}\n", dry_run_ ? "would remove" : "removed", checkpoint::name_of_step(step));
  }
  return 0;
}

}  // namespace sheaf::cli
