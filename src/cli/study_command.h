#pragma once

#include <string>

#include "cli/command.h"
#include "sheaf/train/options.h"
#include "study/study.h"

namespace sheaf::cli {

/// Measures a configuration in every way there is and writes one report.
class StudyCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "study"; }
  [[nodiscard]] std::string_view summary() const override {
    return "compare strategies, batches, time and memory, and write one report";
  }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  std::string out_;
  study::StudySection study_;
  train::RunOptions options_;
};

}  // namespace sheaf::cli
