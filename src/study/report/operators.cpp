#include <fmt/format.h>

#include <cmath>

#include "study/report/blocks.h"
#include "study/report/sections.h"

namespace sheaf::study {
namespace {

constexpr std::size_t kShown = 12;

Json row_of(const Json& each) {
  return {each["name"],
          each["change"],
          each["calls_before"],
          each["calls_after"],
          scaled(each, "seconds_before", 1e6),
          scaled(each, "seconds_after", 1e6),
          1e6 * (each["seconds_after"].get<double>() - each["seconds_before"].get<double>())};
}

/// What is new, removed or changed; what is the same and only took another time is left out.
Json difference_table(const Json& difference) {
  Json rows = Json::array();
  for (const char* kind : {"collectives", "operators"}) {
    std::size_t shown = 0;
    for (const Json& each : difference[kind]) {
      if (each["change"] == "same" || shown == kShown) continue;
      rows.push_back(row_of(each));
      ++shown;
    }
  }
  return table({.title = fmt::format("From {} to {}",
                                     difference["before"].get<std::string>(),
                                     difference["after"].get<std::string>()),
                .note = fmt::format("Per step, rank 0; at most {} collectives and {} operators, "
                                    "the largest change of time first.",
                                    kShown,
                                    kShown)},
               {words("operator"),
                words("change"),
                numbers("calls", "before", 1),
                numbers("calls", "after", 1),
                numbers("time", "us before", 1),
                numbers("time", "us after", 1),
                numbers("difference", "us", 1)},
               rows);
}

}  // namespace

Json operators_section(const Json& data) {
  Json blocks = Json::array();
  for (const Json& difference : data["differences"]) blocks.push_back(difference_table(difference));
  return section({.id = "operators",
                  .title = "Operator differences",
                  .shortened = "Operators",
                  .text = "Which operators and collectives a strategy adds, drops or calls another "
                          "number of times."},
                 blocks);
}

}  // namespace sheaf::study
