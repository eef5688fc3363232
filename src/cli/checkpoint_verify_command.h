#pragma once

#include "cli/command.h"

namespace sheaf::cli {

/// Reads checkpoints and compares every checksum.
class CheckpointVerifyCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "checkpoint verify"; }
  [[nodiscard]] std::string_view summary() const override {
    return "read checkpoints and compare every checksum";
  }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  std::string path_;
  bool json_ = false;
};

}  // namespace sheaf::cli
