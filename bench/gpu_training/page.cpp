#include "page.h"

#include <fmt/format.h>

namespace sheaf::bench {
namespace {

using nlohmann::json;

// Names of kernels with all their types fill screens.
constexpr std::size_t kShownName = 60;
// What two digits show.
constexpr double kShownMs = 0.005;

constexpr std::string_view kGpuFields =
    "(name, driver, SM clock, its maximum, memory clock, its maximum, temperature, power, its "
    "limit)";
constexpr std::string_view kNotes =
    "Steps are medians; the mean by the wall clock is beside them. No side clips gradients; "
    "PyTorch has one batch, on the device already. MFU = (6N + 12 L d T) tok/s / 989 TFLOP/s. "
    "Peaks are what the allocator had given out. The speed of light has products and attention as "
    "fast as in short bursts of each, the light without rest as fast as in whole steps of them in "
    "a "
    "row, for seconds; that is no bound, since other algorithms, and kernels in between that let "
    "the card rest, can be faster.";
constexpr std::string_view kHead =
    "| side | step ms | tok/s | MFU | x eager | x compile | of the light | of that without rest "
    "| peak GB | peak x eager | peak x compile | first step s | wall tok/s | loss |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";

std::string ratio(double value, double base) {
  return base > 0 ? fmt::format("{:.2f}", value / base) : "-";
}

std::string percent(double part) { return fmt::format("{:.1f} %", 100 * part); }

std::string percent(std::optional<double> part) { return part ? percent(*part) : "-"; }

std::string gigabytes(double bytes) { return bytes > 0 ? fmt::format("{:.2f}", bytes / 1e9) : "-"; }

/// How many times as fast as another side; "-" where that did not run.
std::string speed_beside(const Results& results, const Figures& figures, const char* other) {
  const Figures* base = results.find(other);
  return base == nullptr ? "-" : ratio(base->step_ms, figures.step_ms);
}

std::string memory_beside(const Results& results, const Figures& figures, const char* other) {
  const Figures* base = results.find(other);
  return base == nullptr ? "-" : ratio(figures.peak_bytes, base->peak_bytes);
}

std::string budget_row(std::string_view name,
                       double light,
                       double ms,
                       const std::string& further = " |  ") {
  return fmt::format(
      "| {} | {:.2f} | {:.2f} | {:+.2f} | {} |\n", name, light, ms, ms - light, further);
}

std::string largest_kernel(const ClassUse& use) {
  const KernelUse& largest = use.kernels.front();
  std::string name = largest.name.substr(0, kShownName);
  // A bar would end the cell.
  for (char& letter : name) letter = letter == '|' ? '/' : letter;
  return fmt::format("{:.0f} | {:.2f} ms: `{}`", use.calls, largest.ms, name);
}

std::string light_row(const Results& results, std::string_view name, double step_ms) {
  return fmt::format("| {} | {:.2f} | {:.0f} | {} | - | - | {} | {} | - | - | - | - | - | - |\n",
                     name,
                     step_ms,
                     results.tokens_per_second(step_ms),
                     percent(results.mfu(step_ms)),
                     percent(results.part_of_light(step_ms)),
                     percent(results.part_of_sustained_light(step_ms)));
}

/// How much slower products and attention are where the card does not rest.
std::string replay_line(const Light& light) {
  if (!light.replayed_ms) return "";
  const json& sustained = light.measured.at("sustained");
  return fmt::format(
      "\nProducts and attention of whole steps in a row, for {:.1f} s: {:.2f} ms a step, where "
      "bursts of each add up to {:.2f}.\n",
      sustained.at("seconds").get<double>(),
      *light.replayed_ms,
      sustained.at("burst_ms").get<double>());
}

}  // namespace

std::string heading(const Results& results) {
  const Contest& contest = results.contest;
  return fmt::format("# {} ({}, {} texts of {} tokens)\n\n{}: `{}`\n\n{}\n\nGPU before {}: {}\n\n",
                     contest.row.name,
                     name_of(contest.row.arithmetic),
                     contest.row.batch,
                     contest.row.length,
                     results.date,
                     results.command,
                     results.versions,
                     kGpuFields,
                     results.gpu_before) +
         fmt::format("{} steps after {}. {}\n\n{}", contest.steps, contest.warm_up, kNotes, kHead);
}

std::string light_rows(const Results& results) {
  std::string rows = light_row(results, "speed of light", results.light->step_ms());
  if (const auto sustained_ms = results.light->sustained_ms()) {
    rows += light_row(results, "light without rest", *sustained_ms);
  }
  return rows;
}

std::string side_row(const Results& results, const Side& side) {
  const Figures& figures = side.figures;
  return fmt::format(
      "| {} | {:.2f} | {:.0f} | {} | {} | {} | {} | {} | {} | {} | {} | {:.1f} | {:.0f} | {:.4f} |"
      "\n",
      side.name,
      figures.step_ms,
      results.tokens_per_second(figures.step_ms),
      percent(results.mfu(figures.step_ms)),
      speed_beside(results, figures, kEager),
      speed_beside(results, figures, kCompile),
      percent(results.part_of_light(figures.step_ms)),
      percent(results.part_of_sustained_light(figures.step_ms)),
      gigabytes(figures.peak_bytes),
      memory_beside(results, figures, kEager),
      memory_beside(results, figures, kCompile),
      figures.first_step_s,
      results.tokens_per_second(figures.wall_ms),
      figures.loss);
}

std::string light_page(const Results& results) {
  const json& measured = results.light->measured;
  std::string page = "\nThe light, in ms:";
  for (const auto& [kind, ms] : results.light->milliseconds) {
    page += fmt::format(" {} {:.2f},", name_of(kind), ms);
  }
  page += fmt::format(" all {:.2f}.\n", results.light->step_ms());
  page += replay_line(*results.light);
  page +=
      "\n| product | size | ms | TFLOP/s | calls | best "
      "|\n|---|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < results.contest.work.linears.size(); ++i) {
    const Linear& linear = results.contest.work.linears[i];
    for (const json& pass : measured.at("linears").at(i).at("passes")) {
      page += fmt::format("| {}, {} | {} x {} x {} | {:.4f} | {:.0f} | {} | {}, {} |\n",
                          linear.name,
                          pass.at("pass").get<std::string>(),
                          results.contest.work.tokens,
                          linear.inputs,
                          linear.outputs,
                          pass.at("ms").get<double>(),
                          pass.at("tflops").get<double>(),
                          linear.calls,
                          pass.at("library").get<std::string>(),
                          pass.at("way").get<std::string>());
    }
  }
  page += "\nAttention, forward and backward of one layer, in ms:";
  for (const auto& [kernel, ms] : measured.at("attention").at("all").items()) {
    page += fmt::format(" {} {:.3f};", kernel, ms.get<double>());
  }
  return page + fmt::format(" copy {:.2f} TB/s.\n",
                            measured.at("copy_bytes_per_second").get<double>() / 1e12);
}

std::string budget_page(const Results& results) {
  const Budget& budget = *results.budget;
  std::string page =
      "\nWhere sheaf's step goes, in ms (recorded steps are never the replay of a graph):\n\n"
      "| class | light | sheaf | left | calls | largest kernel |\n|---|---|---|---|---|---|\n";
  for (const KernelClass kind : kKernelClasses) {
    const auto use = budget.classes.find(kind);
    const bool runs = use != budget.classes.end();
    const bool bounded = results.light && results.light->milliseconds.contains(kind);
    if (!runs && !bounded) continue;
    page += budget_row(name_of(kind),
                       bounded ? results.light->milliseconds.at(kind) : 0,
                       runs ? use->second.ms : 0,
                       runs ? largest_kernel(use->second) : "0 | ");
  }
  if (budget.hidden_ms() > kShownMs) page += budget_row("beside others", 0, -budget.hidden_ms());
  page += budget_row("launch gaps", 0, budget.gaps_ms);
  page += budget_row("not in the recording", 0, results.not_recorded_ms());
  page += budget_row("step",
                     results.light ? results.light->step_ms() : 0,
                     budget.recorded_ms() + results.not_recorded_ms());
  return page;
}

std::string closing(const Results& results) {
  std::string page = fmt::format("\nGPU after: {}\n", results.gpu_after);
  for (const std::string& failure : results.failures) page += "\nfailed: " + failure + "\n";
  return page;
}

}  // namespace sheaf::bench
