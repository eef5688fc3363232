#include "results.h"

#include <algorithm>

namespace sheaf::bench {
namespace {

using nlohmann::json;

// Kernels listed for each class.
constexpr std::size_t kListed = 8;

json rates_of(double step_ms, const Results& results) {
  return {{"step_ms", step_ms},
          {"tokens_per_second", results.tokens_per_second(step_ms)},
          {"mfu", results.mfu(step_ms)}};
}

json json_of(const std::map<KernelClass, double>& classes) {
  json all = json::object();
  for (const auto& [kind, ms] : classes) all[std::string(name_of(kind))] = ms;
  return all;
}

json json_of(const Light& light, const Results& results) {
  json all = rates_of(light.step_ms(), results);
  all["classes_ms"] = json_of(light.milliseconds);
  all["bursts"] = rates_of(light.burst_step_ms(), results);
  all["bursts"]["classes_ms"] = json_of(light.burst_milliseconds);
  all["measured"] = light.measured;
  if (const auto ms = light.sustained_ms()) all["sustained"] = rates_of(*ms, results);
  return all;
}

json json_of(const Side& side, const Results& results) {
  const Figures& figures = side.figures;
  json all{{"side", side.name},
           {"step_ms", figures.step_ms},
           {"wall_ms", figures.wall_ms},
           {"tokens_per_second", results.tokens_per_second(figures.step_ms)},
           {"mfu", results.mfu(figures.step_ms)},
           {"peak_bytes", figures.peak_bytes},
           {"first_step_s", figures.first_step_s},
           {"loss", figures.loss},
           {"details", figures.details}};
  if (const auto part = results.part_of_light(figures.step_ms)) all["part_of_light"] = *part;
  if (const auto part = results.part_of_burst_light(figures.step_ms)) {
    all["part_of_burst_light"] = *part;
  }
  if (const auto part = results.part_of_sustained_light(figures.step_ms)) {
    all["part_of_sustained_light"] = *part;
  }
  for (const char* name : kPyTorchSides) {
    const Figures* other = results.find(name);
    if (other == nullptr) continue;
    all["speed_beside"][name] = other->step_ms / figures.step_ms;
    if (other->peak_bytes > 0) {
      all["memory_beside"][name] = figures.peak_bytes / other->peak_bytes;
    }
  }
  return all;
}

json json_of(const Budget& budget) {
  json classes = json::array();
  for (const auto& [kind, use] : budget.classes) {
    json kernels = json::array();
    for (const KernelUse& kernel : use.kernels) {
      if (kernels.size() == kListed) break;
      kernels.push_back({{"name", kernel.name}, {"ms", kernel.ms}, {"calls", kernel.calls}});
    }
    classes.push_back({{"class", name_of(kind)},
                       {"ms", use.ms},
                       {"running_ms", use.running_ms},
                       {"calls", use.calls},
                       {"kernels", kernels}});
  }
  return {{"busy_ms", budget.busy_ms}, {"gaps_ms", budget.gaps_ms}, {"classes", classes}};
}

}  // namespace

const Figures* Results::find(const std::string& side) const {
  const auto found = std::ranges::find(sides, side, &Side::name);
  return found == sides.end() ? nullptr : &found->figures;
}

double Results::tokens_per_second(double step_ms) const {
  return step_ms > 0 ? static_cast<double>(contest.work.tokens) / step_ms * 1e3 : 0;
}

double Results::mfu(double step_ms) const {
  return step_ms > 0 ? contest.work.rule_flops / step_ms * 1e3 / kPeakFlops : 0;
}

std::optional<double> Results::part_of_light(double step_ms) const {
  if (!light || !(step_ms > 0)) return std::nullopt;
  return light->step_ms() / step_ms;
}

std::optional<double> Results::part_of_burst_light(double step_ms) const {
  if (!light || !(step_ms > 0)) return std::nullopt;
  return light->burst_step_ms() / step_ms;
}

std::optional<double> Results::part_of_sustained_light(double step_ms) const {
  if (!light || !light->sustained_ms() || !(step_ms > 0)) return std::nullopt;
  return *light->sustained_ms() / step_ms;
}

double Results::not_recorded_ms() const {
  const Figures* sheaf = find(kSheaf);
  return budget && sheaf != nullptr ? sheaf->step_ms - budget->recorded_ms() : 0;
}

json json_of(const Results& results) {
  json all{{"row", results.contest.row.name},
           {"arithmetic", name_of(results.contest.row.arithmetic)},
           {"tokens", results.contest.work.tokens},
           {"rule_flops", results.contest.work.rule_flops},
           {"product_flops", results.contest.work.product_flops()},
           {"steps", results.contest.steps},
           {"warm_up", results.contest.warm_up},
           {"command", results.command},
           {"date", results.date},
           {"versions", results.versions},
           {"gpu_before", results.gpu_before},
           {"gpu_after", results.gpu_after},
           {"sides", json::array()},
           {"failures", results.failures}};
  if (results.light) all["light"] = json_of(*results.light, results);
  for (const Side& side : results.sides) all["sides"].push_back(json_of(side, results));
  if (results.budget) all["budget"] = json_of(*results.budget);
  if (results.budget && results.find(kSheaf) != nullptr) {
    all["budget"]["not_recorded_ms"] = results.not_recorded_ms();
  }
  return all;
}

}  // namespace sheaf::bench
