#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"
#include "sheaf/base/options.h"
#include "sheaf/plan/setting.h"
#include "sheaf/train/section_enums.h"

namespace sheaf::cli {

enum class PlannedDevice { gpu, cpu };

constexpr auto enum_names(PlannedDevice) {
  return std::array{EnumName{"gpu", PlannedDevice::gpu}, EnumName{"cpu", PlannedDevice::cpu}};
}

/// What is asked of a plan.
struct PlanRequest {
  std::string model;
  int devices = 8;
  /// Of one device.
  Bytes memory = gibibytes(80);
  /// Part of it that tensors do not get: the driver, libraries, gaps between blocks.
  double reserve = 0.05;
  /// Texts per device and pass.
  std::vector<std::int64_t> batch{1, 2, 4, 8};
  std::int64_t accumulation = 1;
  /// 0: the model's context.
  std::int64_t sequence = 0;
  /// Of all places that drop; -1: the model's own.
  double dropout = -1;
  train::Compute precision = train::Compute::bf16;
  train::Reduce reduce = train::Reduce::fp32;
  PlannedDevice device = PlannedDevice::gpu;
  /// Devices with fast links between them.
  int node = 8;
  /// For hours and cost.
  double tokens = 0;
  double price = 0;
  double mfu = 0.4;
  double flops = 0;
  std::string device_kind;
};

/// Says what fits, before anything runs.
class PlanCommand final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "plan"; }
  [[nodiscard]] std::string_view summary() const override {
    return "say what fits into memory, with which strategy, and what it costs";
  }
  void declare(OptionSet& options) override;
  int run(Console& console) override;

 private:
  PlanRequest request_;
  bool json_ = false;
};

}  // namespace sheaf::cli
