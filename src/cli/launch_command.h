#pragma once

#include "cli/command.h"
#include "sheaf/launch/launcher.h"

namespace sheaf::cli {

/// `sheaf launch --ranks N -- program args`: starts the ranks of this node.
class LaunchCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "launch"; }
  [[nodiscard]] std::string_view summary() const override {
    return "start a program on several ranks, as torchrun does";
  }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  launch::LaunchOptions launch_;
};

}  // namespace sheaf::cli
