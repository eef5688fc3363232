#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "study/report/blocks.h"
#include "study/report/sections.h"

namespace sheaf::study {
namespace {

/// What a stage keeps whole on every rank, and when it is the one to take.
struct Advice {
  const char* optimizer;
  const char* gradients;
  const char* parameters;
  const char* when;
};

Advice advice_on(const std::string& strategy) {
  const auto is = [&](const char* part) { return strategy.find(part) != std::string::npos; };
  if (is("hybrid")) {
    return {"cut", "cut", "cut", "fast links within groups of devices, slow ones between"};
  }
  if (is("zero3")) {
    return {"cut", "cut", "cut", "parameters do not fit; they are gathered twice a step"};
  }
  if (is("zero2")) {
    return {"cut", "cut", "whole", "parameters fit, their gradients do not; fast links"};
  }
  if (is("zero1")) {
    return {"cut", "whole", "whole", "only the optimizer's states do not fit"};
  }
  if (is("flat")) {
    return {"whole",
            "whole",
            "whole",
            "all fits, and a model so small that one exchange at "
            "the end is the quickest"};
  }
  return {"whole", "whole", "whole", "all fits; nothing is simpler or sends less"};
}

std::string collectives_text(const Json& traffic) {
  std::map<std::string, double> calls;
  for (const Json& each : traffic["by_collective"]) {
    if (each["purpose"] == "control" || each["purpose"] == "loss") continue;
    calls[each["collective"]] += each["calls"].get<double>();
  }
  std::string text;
  for (const auto& [name, count] : calls) {
    text += fmt::format("{}{} {:.0f} x", text.empty() ? "" : ", ", name, count);
  }
  return text;
}

Json cuts_table(const Json& strategies) {
  Json rows = Json::array();
  for (const Json& row : strategies) {
    if (!finished(row)) continue;
    const Advice advice = advice_on(row["strategy"]);
    rows.push_back({row["strategy"],
                    advice.parameters,
                    advice.gradients,
                    advice.optimizer,
                    scaled(row["memory"], "measured", 1 / kMiB),
                    scaled(row["memory"], "predicted", 1 / kMiB),
                    scaled(row["memory"], "error", 100),
                    collectives_text(row["traffic"])});
  }
  return table({.title = "Sharding comparison"},
               {words("strategy"),
                words("parameters"),
                words("gradients"),
                words("optimizer"),
                numbers("peak per rank", "MiB", 1),
                numbers("predicted", "MiB", 1),
                numbers("error", "%", 1),
                words("collectives per step")},
               rows);
}

/// Whether the rules of thumb hold here is said by what was measured beside them.
Json advice_table(const Json& strategies) {
  double fastest = 0;
  double largest = 0;
  for (const Json& row : strategies) {
    if (!finished(row)) continue;
    fastest = std::max(fastest, row["items_per_second"].get<double>());
    largest = std::max(largest, row["memory"]["measured"].get<double>());
  }
  Json rows = Json::array();
  for (const Json& row : strategies) {
    const std::string when = advice_on(row["strategy"]).when;
    if (!finished(row)) {
      rows.push_back({row["strategy"], when, nullptr, nullptr, row["ending"]});
      continue;
    }
    rows.push_back({row["strategy"],
                    when,
                    100 * row["items_per_second"].get<double>() / fastest,
                    100 * row["memory"]["measured"].get<double>() / largest,
                    row["problems"].empty() ? Json("right") : row["problems"][0]});
  }
  return table({.title = "Strategy guide"},
               {words("strategy"),
                words("take it when"),
                numbers("speed here", "% of the fastest", 0),
                numbers("memory here", "% of the most", 0),
                words("weights and loss")},
               rows);
}

}  // namespace

Json guide_section(const Json& data) {
  return section({.id = "guide",
                  .title = "What each strategy cuts",
                  .shortened = "Guide",
                  .text = "Whole: every rank holds all of it. Cut: each rank holds its part. A "
                          "hybrid cuts within groups of ranks and copies between them."},
                 {cuts_table(data["strategies"]), advice_table(data["strategies"])});
}

}  // namespace sheaf::study
