#pragma once

#include "cli/command.h"
#include "cli/data/input_arguments.h"
#include "sheaf/data/tokenizer_training.h"

namespace sheaf::cli {

/// Makes a tokenizer from text.
class DataTokenizerTrainCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "data tokenizer train"; }
  [[nodiscard]] std::string_view summary() const override {
    return "make a byte-level BPE tokenizer from text";
  }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  InputArguments input_;
  data::TokenizerTrainingOptions training_;
  std::string out_;
  bool json_ = false;
};

}  // namespace sheaf::cli
