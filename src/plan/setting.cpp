#include "sheaf/plan/setting.h"

#include <array>
#include <string_view>

namespace sheaf::plan {

std::string strategy_name(const Setting& setting) {
  constexpr std::array<std::string_view, 4> kStages{"ddp", "zero1", "zero2", "zero3"};
  const bool is_hybrid = setting.replicate > 1;
  if (setting.cuts_parameters() && !setting.reshard_after_forward) {
    return is_hybrid ? "_HYBRID_SHARD_ZERO2" : "SHARD_GRAD_OP";
  }
  std::string name(is_hybrid ? "hybrid:" : "");
  name += kStages.at(static_cast<std::size_t>(setting.stage));
  if (setting.flat) name += ":flat";
  return name;
}

}  // namespace sheaf::plan
