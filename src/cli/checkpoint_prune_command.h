#pragma once

#include "cli/command.h"
#include "sheaf/checkpoint/folder.h"

namespace sheaf::cli {

/// Removes old checkpoints.
class CheckpointPruneCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "checkpoint prune"; }
  [[nodiscard]] std::string_view summary() const override {
    return "remove old checkpoints, never the last good one";
  }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  std::string path_;
  checkpoint::KeepOptions keep_{.last = 1};
  bool dry_run_ = false;
};

}  // namespace sheaf::cli
