#pragma once

#include <string>

#include "cli/command.h"
#include "sheaf/train/options.h"
#include "study/quick_run.h"

namespace sheaf::cli {

/// Tries larger and larger micro-batches until memory ends.
class SweepCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "sweep"; }
  [[nodiscard]] std::string_view summary() const override {
    return "try micro-batches until memory ends: speed and memory of each, and the knee";
  }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  int ranks_ = 1;
  std::int64_t steps_ = 6;
  std::int64_t first_ = 1;
  std::int64_t most_ = 4096;
  std::string out_;
  bool json_ = false;
  train::RunOptions options_ = study::quick_run();
};

}  // namespace sheaf::cli
