#pragma once

#include "cli/command.h"
#include "sheaf/checkpoint/export.h"

namespace sheaf::cli {

/// Writes a checkpoint's tensors for other programs.
class CheckpointExportCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "checkpoint export"; }
  [[nodiscard]] std::string_view summary() const override {
    return "write a checkpoint for safetensors, torch.load or PyTorch's DCP";
  }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  std::string path_;
  checkpoint::ExportOptions export_;
};

}  // namespace sheaf::cli
