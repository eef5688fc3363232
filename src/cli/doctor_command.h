#pragma once

#include "cli/command.h"

namespace sheaf::cli {

/// `sheaf doctor`: reports what this machine has, what works and what to do about the rest. Exits
/// with 1 if something that sheaf needs does not work.
class DoctorCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "doctor"; }
  [[nodiscard]] std::string_view summary() const override {
    return "check what works on this machine, and say what to do about the rest";
  }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  bool json_ = false;
};

}  // namespace sheaf::cli
