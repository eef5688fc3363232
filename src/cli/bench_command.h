#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "sheaf/train/options.h"
#include "study/bench.h"
#include "study/quick_run.h"

namespace sheaf::cli {

/// Trains with several strategies in turn and compares them.
class BenchCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "bench"; }
  [[nodiscard]] std::string_view summary() const override {
    return "train with several strategies and compare speed, memory, traffic and weights";
  }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  std::vector<std::string> strategies_;
  int ranks_ = 4;
  std::int64_t steps_ = 20;
  study::Against against_ = study::Against::nobody;
  std::string python_ = "python3";
  std::string out_;
  bool json_ = false;
  train::RunOptions options_ = study::quick_run();
};

}  // namespace sheaf::cli
