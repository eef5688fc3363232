#include <fmt/format.h>

#include "sheaf/base/table.h"
#include "sheaf/base/units.h"
#include "study/sweep.h"
#include "train/figures.h"

namespace sheaf::study {
namespace {

std::vector<std::string> cells(const Json& row, const Json& knee) {
  const std::string batch = std::to_string(row["batch"].get<std::int64_t>());
  if (!row.contains("items_per_second")) return {batch, "-", "-", "-", "-", "out of memory"};
  const Json& memory = row["memory"];
  return {batch,
          train::rate_text(row["items_per_second"]),
          fmt::format("{:.1f}", 1000 * row["step_seconds"]["median"].get<double>()),
          to_string(Bytes{memory["measured"]}),
          memory["predicted"].is_null() ? "-" : to_string(Bytes{memory["predicted"]}),
          row["batch"] == knee ? "knee" : "fits"};
}

}  // namespace

std::string sweep_page(const Json& sweep) {
  Table table({"micro-batch", "items/s", "ms per step", "peak", "predicted", ""});
  for (const Json& row : sweep["rows"]) table.add(cells(row, sweep["knee"]));
  const std::int64_t limit = sweep["limit"];
  std::string text =
      fmt::format("{} {}, {} per rank\n\n{}\n",
                  train::count_text(sweep["ranks"], "rank"),
                  sweep["strategy"].get<std::string>(),
                  limit > 0 ? "at most " + to_string(Bytes{limit}) : "no limit of memory",
                  table.str());
  if (sweep["largest"] == 0) return text + "not even the first fits\n";
  text += fmt::format("largest that fits: {}{}\n",
                      sweep["largest"].get<std::int64_t>(),
                      sweep["ended_by_memory"].get<bool>() ? "" : " or more");
  if (!sweep["knee"].is_null()) {
    text += fmt::format("knee: {}, the smallest within 5 % of the highest speed\n",
                        sweep["knee"].get<std::int64_t>());
  }
  return text;
}

}  // namespace sheaf::study
