#pragma once

#include "cli/command.h"

namespace sheaf::cli {

/// Says what is in token files, and whether they are whole.
class DataInspectCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "data inspect"; }
  [[nodiscard]] std::string_view summary() const override {
    return "say what is in token files, and check them";
  }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  std::string path_;
  std::string tokenizer_;
  std::int64_t decode_ = 0;
  bool verify_ = false;
  bool json_ = false;
};

}  // namespace sheaf::cli
