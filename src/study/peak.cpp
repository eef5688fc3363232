#include "study/peak.h"

#include <algorithm>
#include <vector>

namespace sheaf::study {
namespace {

std::vector<Json*> rows_in(Json& data) {
  std::vector<Json*> rows{&data["baseline"]};
  for (Json* list : {&data["strategies"], &data["sweep"]["rows"], &data["gains"]}) {
    for (Json& row : *list) rows.push_back(&row);
  }
  return rows;
}

}  // namespace

void share_peak(Json& data) {
  if (data["settings"]["device"] != "cpu") return;
  double peak = 0;
  for (const Json* row : rows_in(data)) peak = std::max(peak, row->value("peak_flops", 0.0));
  if (peak <= 0) return;
  for (Json* row : rows_in(data)) {
    if (!row->contains("peak_flops") || !(*row)["mfu"].is_number()) continue;
    (*row)["mfu"] = (*row)["mfu"].get<double>() * (*row)["peak_flops"].get<double>() / peak;
    (*row)["peak_flops"] = peak;
  }
}

}  // namespace sheaf::study
