#include "page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sheaf::bench {
namespace {

using nlohmann::json;

// Names of kernels with all their types fill screens.
constexpr std::size_t kShownName = 60;

constexpr std::string_view kGpuFields =
    "(name, driver, SM clock, its maximum, memory clock, its maximum, temperature, power, its "
    "limit)";
constexpr std::string_view kNotes =
    "Steps are medians; the mean by the wall clock is beside them. No side clips gradients; "
    "PyTorch has one batch, on the device already. MFU = (6N + 12 L d T) tok/s / 989 TFLOP/s. "
    "Peaks are what the allocator had given out.\n\n"
    "PyTorch as it comes has the vocabulary as it is and flash attention (in fp32, and on a CPU, "
    "what it takes by itself); tuned and compiled it has the vocabulary padded and the fastest "
    "attention kernel, or that of --attention.\n\n"
    "The speed of light has every product and attention in PyTorch's fastest way, each repeated on "
    "the same operands without a pause and timed once the card has settled, and memory traffic at "
    "the speed of a copy, timed likewise. The light in bursts has each at its time in bursts of "
    "milliseconds with pauses in between, at clocks that the card may not hold under load. The "
    "light without rest has products and attention as fast as in whole steps of them in a row, for "
    "seconds, and memory traffic as the speed of light has it. None is a strict bound: other "
    "algorithms can be faster, and in a step other kernels in between let the card rest.";
constexpr std::string_view kHead =
    "| side | step ms | tok/s | MFU | x plain eager | x eager | x compile | of the light "
    "| of the light in bursts | of that without rest | peak GB | peak x plain eager "
    "| peak x eager | peak x compile | first step s | wall tok/s | loss |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";

std::string ratio(double value, double base) {
  return base > 0 ? fmt::format("{:.2f}", value / base) : "-";
}

std::string percent(double part) { return fmt::format("{:.1f} %", 100 * part); }

std::string percent(std::optional<double> part) { return part ? percent(*part) : "-"; }

std::string gigabytes(double bytes) { return bytes > 0 ? fmt::format("{:.2f}", bytes / 1e9) : "-"; }

/// Cells: how many times as fast as each use of PyTorch; "-" for one that did not run.
std::string speeds_beside(const Results& results, const Figures& figures) {
  std::vector<std::string> cells;
  for (const char* other : kPyTorchSides) {
    const Figures* base = results.find(other);
    cells.push_back(base == nullptr ? "-" : ratio(base->step_ms, figures.step_ms));
  }
  return fmt::format("{}", fmt::join(cells, " | "));
}

std::string memory_beside(const Results& results, const Figures& figures) {
  std::vector<std::string> cells;
  for (const char* other : kPyTorchSides) {
    const Figures* base = results.find(other);
    cells.push_back(base == nullptr ? "-" : ratio(figures.peak_bytes, base->peak_bytes));
  }
  return fmt::format("{}", fmt::join(cells, " | "));
}

std::string budget_row(std::string_view name,
                       double light,
                       double ms,
                       const std::string& further = " |  | ") {
  return fmt::format(
      "| {} | {:.2f} | {:.2f} | {:+.2f} | {} |\n", name, light, ms, ms - light, further);
}

std::string kernels_of(const ClassUse& use) {
  const KernelUse& largest = use.kernels.front();
  std::string name = largest.name.substr(0, kShownName);
  // A bar would end the cell.
  for (char& letter : name) letter = letter == '|' ? '/' : letter;
  return fmt::format(
      "{:.2f} | {:.0f} | {:.2f} ms: `{}`", use.running_ms, use.calls, largest.ms, name);
}

/// Cells: the speed that is reached as a part of each light's.
std::string parts_of_lights(const Results& results, double step_ms) {
  return fmt::format("{} | {} | {}",
                     percent(results.part_of_light(step_ms)),
                     percent(results.part_of_burst_light(step_ms)),
                     percent(results.part_of_sustained_light(step_ms)));
}

std::string light_row(const Results& results, std::string_view name, double step_ms) {
  return fmt::format("| {} | {:.2f} | {:.0f} | {} | - | - | - | {} | - | - | - | - | - | - | - |\n",
                     name,
                     step_ms,
                     results.tokens_per_second(step_ms),
                     percent(results.mfu(step_ms)),
                     parts_of_lights(results, step_ms));
}

/// What products and attention take in whole steps of them, beside each by itself.
std::string replay_line(const Light& light) {
  if (!light.replayed_ms) return "";
  const json& sustained = light.measured.at("sustained");
  return fmt::format(
      "\nProducts and attention of whole steps in a row, for {:.1f} s: {:.2f} ms a step, where "
      "long stretches of each add up to {:.2f} and bursts to {:.2f}.\n",
      sustained.at("seconds").get<double>(),
      *light.replayed_ms,
      sustained.at("long_ms").get<double>(),
      sustained.at("burst_ms").get<double>());
}

/// How the light was timed.
std::string stretch_line(const json& measured) {
  const json& stretch = measured.at("stretch");
  return fmt::format(
      "\nOf each product and of attention the {} fastest ways in bursts ran without a pause for "
      "about "
      "{:.0f} ms and were timed in the {:.0f} ms after that; the fastest counts. A copy was timed "
      "likewise.\n",
      stretch.at("finalists").get<int>(),
      stretch.at("settle_ms").get<double>(),
      stretch.at("timed_ms").get<double>());
}

std::string product_row(const Linear& linear, std::int64_t tokens, const json& pass) {
  return fmt::format("| {}, {} | {} x {} x {} | {:.4f} | {:.4f} | {:.0f} | {} | {}, {} |\n",
                     linear.name,
                     pass.at("pass").get<std::string>(),
                     tokens,
                     linear.inputs,
                     linear.outputs,
                     pass.at("ms").get<double>(),
                     pass.at("burst_ms").get<double>(),
                     pass.at("tflops").get<double>(),
                     linear.calls,
                     pass.at("library").get<std::string>(),
                     pass.at("way").get<std::string>());
}

std::string product_table(const Results& results) {
  const StepWork& work = results.contest.work;
  std::string table =
      "\n| product | size | ms | in bursts | TFLOP/s | calls | best |\n"
      "|---|---|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < work.linears.size(); ++i) {
    for (const json& pass : results.light->measured.at("linears").at(i).at("passes")) {
      table += product_row(work.linears[i], work.tokens, pass);
    }
  }
  return table;
}

std::string attention_line(const json& measured) {
  std::string line = "\nAttention, forward and backward of one layer, in ms (in bursts):";
  for (const auto& [kernel, times] : measured.at("attention").at("all").items()) {
    // The slowest in bursts were not tried for long.
    const std::string ms =
        times.contains("ms") ? fmt::format("{:.3f}", times.at("ms").get<double>()) : "-";
    line += fmt::format(" {} {} ({:.3f});", kernel, ms, times.at("burst_ms").get<double>());
  }
  return line + fmt::format(" copy {:.2f} TB/s ({:.2f}).\n",
                            measured.at("copy_bytes_per_second").get<double>() / 1e12,
                            measured.at("burst_copy_bytes_per_second").get<double>() / 1e12);
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
  rows += light_row(results, "light in bursts", results.light->burst_step_ms());
  if (const auto sustained_ms = results.light->sustained_ms()) {
    rows += light_row(results, "light without rest", *sustained_ms);
  }
  return rows;
}

std::string side_row(const Results& results, const Side& side) {
  const Figures& figures = side.figures;
  return fmt::format(
      "| {} | {:.2f} | {:.0f} | {} | {} | {} | {} | {} | {:.1f} | {:.0f} | {:.4f} |\n",
      side.name,
      figures.step_ms,
      results.tokens_per_second(figures.step_ms),
      percent(results.mfu(figures.step_ms)),
      speeds_beside(results, figures),
      parts_of_lights(results, figures.step_ms),
      gigabytes(figures.peak_bytes),
      memory_beside(results, figures),
      figures.first_step_s,
      results.tokens_per_second(figures.wall_ms),
      figures.loss);
}

std::string light_page(const Results& results) {
  const Light& light = *results.light;
  std::string page = "\nThe light, in ms (in bursts):";
  for (const auto& [kind, ms] : light.milliseconds) {
    page +=
        fmt::format(" {} {:.2f} ({:.2f}),", name_of(kind), ms, light.burst_milliseconds.at(kind));
  }
  page += fmt::format(" all {:.2f} ({:.2f}).\n", light.step_ms(), light.burst_step_ms());
  return page + stretch_line(light.measured) + replay_line(light) + product_table(results) +
         attention_line(light.measured);
}

std::string budget_page(const Results& results) {
  const Budget& budget = *results.budget;
  std::string page =
      "\nWhere sheaf's step goes, in ms. Recorded steps are replays of a graph where the others "
      "are. A moment counts for the first class in this list of which a kernel runs; `running` has "
      "all kernels one after the other, each as long as it took beside others.\n\n"
      "| class | light | sheaf | left | running | calls | largest kernel |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const KernelClass kind : kKernelClasses) {
    const auto use = budget.classes.find(kind);
    const bool runs = use != budget.classes.end();
    const bool bounded = results.light && results.light->milliseconds.contains(kind);
    if (!runs && !bounded) continue;
    page += budget_row(name_of(kind),
                       bounded ? results.light->milliseconds.at(kind) : 0,
                       runs ? use->second.ms : 0,
                       runs ? kernels_of(use->second) : "0 | 0 | ");
  }
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
