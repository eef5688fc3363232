#pragma once

#include "cli/command.h"
#include "cli/data/input_arguments.h"

namespace sheaf::cli {

/// Turns text into token files.
class DataPackCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "data pack"; }
  [[nodiscard]] std::string_view summary() const override {
    return "turn text into token files that training reads";
  }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  InputArguments input_;
  data::PackOptions pack_;
  std::string tokenizer_;
  bool json_ = false;
};

}  // namespace sheaf::cli
