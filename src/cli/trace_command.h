#pragma once

#include <string>

#include "cli/command.h"
#include "sheaf/base/options.h"
#include "sheaf/profile/trace_report.h"

namespace sheaf::cli {

/// `sheaf trace FILE|DIR`: says where the time of recorded steps went, and what two traces differ
/// in.
class TraceCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "trace"; }
  [[nodiscard]] std::string_view summary() const override {
    return "read a trace: compute, exchanges, idle time, operators; or compare two";
  }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  std::string path_;
  std::string against_;
  bool json_ = false;
  int top_ = 15;
  profile::TraceThresholds thresholds_;
};

}  // namespace sheaf::cli
