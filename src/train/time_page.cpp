#include "train/time_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quoting.h"
#include "sheaf/base/table.h"
#include "train/figures.h"
#include "train/page_block.h"

namespace sheaf::train {
namespace {

// Of larger models only the costliest units are shown; metrics.jsonl has all.
constexpr std::size_t kMostUnits = 6;

std::string milliseconds(Seconds time) { return fmt::format("{:.2f} ms", 1000 * time.count()); }

std::string phases_text(const Summary& summary) {
  const auto steps = static_cast<double>(summary.progress.counted_steps);
  const PhaseTimes& phases = summary.phases;
  Table table;
  const auto add = [&](const std::string& phase, Seconds time) {
    table.add({phase, milliseconds(time / steps), percent_text(time / phases.total())});
  };
  add("waiting for data", phases.data_wait);
  add("forward", phases.forward);
  add("backward", phases.backward);
  const bool exchanged = phases.communication().count() > 0;
  if (exchanged) add("waiting for ranks", phases.exposed_communication);
  add("optimizer", phases.optimizer);
  add("idle", phases.idle);
  add("total", phases.total());
  if (exchanged) add("exchanges beside these", phases.hidden_communication);
  return block(
      fmt::format("time per step, mean of {}", count_text(summary.progress.counted_steps, "step")),
      table);
}

std::string exchanges_text(const Summary& summary) {
  if (summary.collectives.empty()) return "";
  const auto steps = static_cast<double>(summary.progress.counted_steps);
  Table table({"exchange", "calls", "bytes", "time"});
  for (const profile::CollectiveUse& use : summary.collectives) {
    const auto bytes = static_cast<double>(use.exchanged.bytes.count) / steps;
    table.add({use.collective + " " + use.purpose,
               fmt::format("{:.4g}", static_cast<double>(use.exchanged.calls) / steps),
               to_string(Bytes{static_cast<std::int64_t>(bytes)}),
               milliseconds(use.exchanged.time / steps)});
  }
  return block("exchanges per step of rank 0", table);
}

Seconds cost_of(const profile::UnitUse& unit) {
  return unit.forward + unit.backward + unit.gathers.time + unit.reduces.time;
}

std::string units_text(const Summary& summary) {
  if (summary.units.size() < 2) return "";
  const auto steps = static_cast<double>(summary.progress.counted_steps);
  std::vector<profile::UnitUse> units = summary.units;
  std::ranges::stable_sort(units, std::ranges::greater(), cost_of);
  std::string title = "units per step of rank 0";
  if (units.size() > kMostUnits) {
    title += fmt::format(", the {} costliest of {}", kMostUnits, units.size());
    units.resize(kMostUnits);
  }
  Table table({"unit", "forward", "backward", "gathers", "reduces"});
  for (const profile::UnitUse& unit : units) {
    table.add({escaped(unit.unit),
               milliseconds(unit.forward / steps),
               milliseconds(unit.backward / steps),
               milliseconds(unit.gathers.time / steps),
               milliseconds(unit.reduces.time / steps)});
  }
  return block(title, table);
}

std::string spreads_text(const Summary& summary) {
  if (summary.imbalance.spreads.empty()) return "";
  Table table({"exchange", "mean", "longest", "mostly last"});
  for (const profile::Spread& spread : summary.imbalance.spreads) {
    table.add({spread.what,
               milliseconds(spread.mean),
               milliseconds(spread.longest),
               fmt::format("rank {}", spread.last_rank)});
  }
  return block("time between the first and the last rank to come", table);
}

}  // namespace

std::string time_page(const Summary& summary) {
  if (summary.progress.counted_steps == 0 || summary.phases.total().count() <= 0) return "";
  return phases_text(summary) + exchanges_text(summary) + units_text(summary) +
         spreads_text(summary);
}

std::string straggler_text(const Summary& summary) {
  const auto& straggler = summary.imbalance.straggler;
  if (!straggler) return "";
  return fmt::format(
      "rank {} in {}: {} more per step than the others, who wait {} of a step for it",
      straggler->rank,
      straggler->phase,
      to_string(straggler->excess),
      percent_text(straggler->share));
}

}  // namespace sheaf::train
