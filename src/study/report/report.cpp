#include "study/report/report.h"

#include <fmt/format.h>

#include "sheaf/base/version.h"
#include "study/report/blocks.h"
#include "study/report/sections.h"
#include "train/figures.h"

namespace sheaf::study {
namespace {

Json figure(const std::string& label, const Json& value, const std::string& unit, int digits) {
  return {{"label", label}, {"value", value}, {"unit", unit}, {"digits", digits}};
}

Json figures(const Json& data, const Json& best) {
  const std::string items = data["start"]["items"];
  Json all = Json::array();
  all.push_back(figure("one rank", scaled(data["baseline"], "items_per_second"), items + "/s", 0));
  if (!best.is_null()) {
    all.push_back(figure(best["strategy"], best["items_per_second"], items + "/s", 0));
    all.push_back(figure("speed-up over one rank", scaled(best, "speed_up"), "x", 2));
    all.push_back(
        figure("peak memory per rank", scaled(best["memory"], "measured", 1 / kMiB), "MiB", 1));
    all.push_back(figure(
        "exposed communication", scaled(best["phases"], "exposed_communication", 1000), "ms", 2));
  }
  all.push_back(figure("best micro-batch (knee)", data["sweep"]["knee"], "", 0));
  return all;
}

}  // namespace

Json make_report(const std::string& title, const Json& data) {
  const Choice choice = choose(data);
  const Json& start = data["start"];
  Json report = {
      {"title",
       title.empty() ? fmt::format("{}: a study", start["model"].get<std::string>()) : title},
      {"lead",
       fmt::format("{}, {} parameters, {}, on {} ranks of {}",
                   start["model"].get<std::string>(),
                   train::grouped(start["parameters"].get<std::int64_t>()),
                   start["precision"].get<std::string>(),
                   data["settings"]["ranks"].get<int>(),
                   start["device"].get<std::string>())},
      {"verdict", choice.reason},
      {"figures", figures(data, choice.row)},
      {"footer",
       fmt::format("Made by sheaf {} from runs of {}. Every number stands in report.json.",
                   version(),
                   data["baseline"]["environment"]["time"].get<std::string>())}};
  Json sections = Json::array({speed_section(data),
                               guide_section(data),
                               sweep_section(data),
                               time_section(data),
                               exchange_section(data),
                               memory_section(data),
                               peaks_section(data),
                               operators_section(data)});
  if (!data["gains"].empty()) sections.push_back(gains_section(data));
  sections.push_back(projection_section(data));
  sections.push_back(checks_section(data));
  sections.push_back(environment_section(data));
  report["sections"] = sections;
  report["data"] = data;
  return report;
}

}  // namespace sheaf::study
