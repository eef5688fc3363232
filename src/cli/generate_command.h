#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/generate/sampling_arguments.h"
#include "sheaf/comm/init.h"
#include "sheaf/hub/convert.h"

namespace sheaf::cli {

/// `sheaf generate --from DIR --prompt TEXT`: continues texts with a model.
class GenerateCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "generate"; }
  [[nodiscard]] std::string_view summary() const override {
    return "continue texts with a Hugging Face model or what a run has exported";
  }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  /// What the arguments amount to.
  struct Job;
  [[nodiscard]] Job prepare() const;
  int generate(Job job, Console& console) const;

  std::string from_;
  std::vector<std::string> prompts_;
  std::string prompts_file_;
  std::int64_t tokens_ = 0;
  SamplingArguments sampling_;
  std::vector<std::string> stops_;
  bool ignore_eos_ = false;
  std::int64_t batch_ = 16;
  std::string tokenizer_;
  comm::DeviceKind device_ = comm::DeviceKind::cpu;
  hub::WeightType dtype_ = hub::WeightType::keep;
  bool json_ = false;
};

}  // namespace sheaf::cli
