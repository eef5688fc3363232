#pragma once

#include "cli/command.h"

namespace sheaf::cli {

/// Says what is in checkpoints.
class CheckpointInspectCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "checkpoint inspect"; }
  [[nodiscard]] std::string_view summary() const override { return "say what is in checkpoints"; }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  std::string path_;
  bool tensors_ = false;
  bool json_ = false;
};

}  // namespace sheaf::cli
