#include "study/timeline.h"

#include <algorithm>

namespace sheaf::study {
namespace {

constexpr std::size_t kMostMoments = 240;

double total(const Json& moment) {
  double sum = 0;
  for (const auto& [purpose, bytes] : moment["bytes"].items()) sum += bytes.get<double>();
  return sum;
}

}  // namespace

void thin_timeline(Json& report) {
  if (!report.is_object() || !report["measured"].contains("timeline")) return;
  const Json all = report["measured"]["timeline"];
  const std::size_t per_part = (all.size() + kMostMoments - 1) / kMostMoments;
  Json kept = Json::array();
  for (std::size_t i = 0; i < all.size(); i += per_part) {
    std::size_t best = i;
    for (std::size_t k = i + 1; k < std::min(i + per_part, all.size()); ++k) {
      if (total(all[k]) > total(all[best])) best = k;
    }
    kept.push_back(all[best]);
  }
  report["measured"]["timeline"] = kept;
}

}  // namespace sheaf::study
