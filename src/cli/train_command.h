#pragma once

#include "cli/command.h"
#include "sheaf/launch/launcher.h"
#include "sheaf/train/options.h"

namespace sheaf::cli {

/// Trains a model as a configuration file says.
class TrainCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "train"; }
  [[nodiscard]] std::string_view summary() const override {
    return "train a model as a configuration file says";
  }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  int ranks_ = 1;
  launch::Mps mps_ = launch::Mps::automatic;
  train::RunOptions options_;
};

}  // namespace sheaf::cli
