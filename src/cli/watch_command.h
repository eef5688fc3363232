#pragma once

#include <string>

#include "cli/command.h"

namespace sheaf::cli {

/// Shows a run that goes on as a page in the browser.
class WatchCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "watch"; }
  [[nodiscard]] std::string_view summary() const override {
    return "show a run as a live page in the browser, from its log folder";
  }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  std::string folder_;
  std::string address_ = "127.0.0.1";
  int port_ = 0;
};

}  // namespace sheaf::cli
