#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace sheaf::cli {

/// Puts runs that have left their logs side by side.
class CompareCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "compare"; }
  [[nodiscard]] std::string_view summary() const override {
    return "put the logs of runs side by side: loss, speed, memory, configuration";
  }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  std::vector<std::string> folders_;
  std::string html_;
  bool json_ = false;
};

}  // namespace sheaf::cli
