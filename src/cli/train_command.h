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
  void check_restarts() const;

  int ranks_ = 1;
  launch::Mps mps_ = launch::Mps::automatic;
  // What start_ranks() takes from the command line itself, listed for the help and checked.
  launch::LaunchOptions restarts_;
  train::RunOptions options_;
};

}  // namespace sheaf::cli
