#pragma once

#include "cli/command.h"

namespace sheaf::cli {

/// Says how two checkpoints differ.
class CheckpointDiffCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "checkpoint diff"; }
  [[nodiscard]] std::string_view summary() const override {
    return "say how two checkpoints differ";
  }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  std::string first_;
  std::string second_;
  bool json_ = false;
};

}  // namespace sheaf::cli
