#pragma once

#include "cli/command.h"
#include "sheaf/hub/convert.h"

namespace sheaf::cli {

/// `sheaf convert --from DIR --to DIR`: writes a Hugging Face model anew.
class ConvertCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "convert"; }
  [[nodiscard]] std::string_view summary() const override {
    return "check a Hugging Face model and write it anew, in another type or other files";
  }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  hub::ConvertOptions convert_;
};

}  // namespace sheaf::cli
