#pragma once

#include <cstdint>
#include <string>

#include "cli/command.h"
#include "sheaf/train/options.h"

namespace sheaf::cli {

/// Runs a few steps of a configuration and says where the memory went.
class MemoryCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "memory"; }
  [[nodiscard]] std::string_view summary() const override {
    return "run a few steps and say what holds how much memory, and when";
  }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  int ranks_ = 1;
  std::int64_t step_ = 3;
  std::int64_t steps_ = 1;
  bool json_ = false;
  std::string snapshot_;
  train::RunOptions options_;
};

}  // namespace sheaf::cli
