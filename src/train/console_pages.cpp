#include "train/console_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/quoting.h"
#include "sheaf/base/table.h"
#include "sheaf/base/version.h"
#include "train/figures.h"
#include "train/page_block.h"
#include "train/step_line.h"
#include "train/time_page.h"

namespace sheaf::train {
namespace {

// Above this many ranks the table of memory shows the extremes only.
constexpr std::size_t kMostRanks = 16;
constexpr std::size_t kMostEpochs = 8;

// Adds a row unless there is nothing to say.
void add_fact(Table& table, const std::string& name, const std::string& value) {
  if (!value.empty()) table.add({name, escaped(value)});
}

std::string model_text(const RunInfo& info) {
  std::string text = info.model + ", " + count_text(info.parameters, "parameter");
  if (info.flops_per_item > 0) {
    const std::string item = info.item_name.substr(0, info.item_name.rfind('s'));
    text += fmt::format(", {} per {}", flops_text(info.flops_per_item, "FLOP"), item);
  }
  return text;
}

std::string ranks_text(const RunInfo& info) {
  std::string text = grouped(info.ranks);
  if (!info.strategy.empty()) text += ", " + info.strategy;
  if (!info.backend.empty()) text += " over " + info.backend;
  if (!info.mesh.empty()) text += ", mesh " + info.mesh;
  return text;
}

std::string peak_text(const RunInfo& info) {
  if (info.peak_flops_per_device > 0) {
    const std::string each = info.devices > 1 ? " per device" : "";
    return fmt::format("{}{} ({})", flops_text(info.peak_flops_per_device), each, info.peak_source);
  }
  return info.peak_source.empty() ? "unknown" : "unknown (" + info.peak_source + ")";
}

std::string steps_text(const RunInfo& info) {
  if (info.steps <= 0) return "no end set";
  if (info.first_step == 0) return grouped(info.steps);
  return fmt::format("{}, of which {} are done", grouped(info.steps), grouped(info.first_step));
}

Table planned_memory(const RunInfo& info) {
  Table table;
  Bytes total;
  for (const auto& [purpose, bytes] : info.memory) {
    table.add({escaped(purpose), to_string(bytes)});
    total.count += bytes.count;
  }
  table.add({"total", to_string(total)});
  return table;
}

std::string headline(const RunInfo& info, const Summary& summary) {
  const std::string time = to_string(summary.progress.elapsed);
  if (summary.interrupted.empty()) {
    return fmt::format("Done: {} in {}", count_text(summary.steps, "step"), time);
  }
  const std::string planned = info.steps > 0 ? " of " + grouped(info.steps) : "";
  return fmt::format("Stopped after step {}{}, {}: {}",
                     grouped(info.first_step + summary.steps),
                     planned,
                     time,
                     escaped(summary.interrupted));
}

void add_speeds(Table& table, const RunInfo& info, const Progress& progress) {
  if (progress.counted_steps == 0) return;
  add_fact(table,
           "throughput",
           fmt::format("{0} {1}/s in all, {2} {1}/s per device ({3})",
                       rate_text(progress.items_per_second),
                       info.item_name,
                       rate_text(progress.items_per_second_per_device),
                       count_text(info.devices, "device")));
  const double rate = progress.steps_per_second;
  const Seconds each(rate > 0 ? 1 / rate : 0);
  add_fact(
      table, "speed", fmt::format("{} steps/s, {} per step", rate_text(rate), to_string(each)));
}

void add_utilisation(Table& table, const RunInfo& info, const Summary& summary) {
  const Progress& progress = summary.progress;
  if (progress.achieved_flops <= 0) return;
  std::string compute = flops_text(progress.achieved_flops) + " achieved";
  if (progress.mfu) {
    table.add({"MFU", fmt::format("{}, {}", percent_text(*progress.mfu), mfu_band(*progress.mfu))});
    const std::string reason = low_mfu_reason(*progress.mfu, summary.phases);
    if (!reason.empty()) table.add({"", reason});
    compute +=
        fmt::format(" of {} peak ({})", flops_text(progress.peak_flops), escaped(info.peak_source));
  }
  table.add({"compute", compute});
}

std::string epochs_text(const std::vector<Seconds>& epochs) {
  if (epochs.empty()) return "";
  const Seconds all = std::accumulate(epochs.begin(), epochs.end(), Seconds(0));
  std::string text = fmt::format("{} done, {} each on average",
                                 grouped(static_cast<std::int64_t>(epochs.size())),
                                 to_string(all / static_cast<double>(epochs.size())));
  if (epochs.size() == 1 || epochs.size() > kMostEpochs) return text;
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    text += (i == 0 ? " (" : ", ") + to_string(epochs[i]);
  }
  return text + ")";
}

std::string cost_text(const RunInfo& info, const Progress& progress) {
  if (!progress.cost) return "";
  return fmt::format("{:.2f} for {} of {}",
                     *progress.cost,
                     to_string(progress.elapsed),
                     count_text(info.devices, "device"));
}

struct MemoryColumn {
  std::string_view name;
  Bytes MemoryUse::*bytes;
};

constexpr std::array kMemoryColumns = {MemoryColumn{"peak allocated", &MemoryUse::peak_allocated},
                                       MemoryColumn{"peak active", &MemoryUse::peak_active},
                                       MemoryColumn{"reserved", &MemoryUse::reserved},
                                       MemoryColumn{"peak resident", &MemoryUse::peak_resident}};

// Returns the columns that have a value on some rank.
std::vector<MemoryColumn> shown_columns(const std::vector<MemoryUse>& memory) {
  std::vector<MemoryColumn> shown;
  std::ranges::copy_if(kMemoryColumns, std::back_inserter(shown), [&](const MemoryColumn& column) {
    return std::ranges::any_of(memory,
                               [&](const auto& use) { return (use.*column.bytes).count > 0; });
  });
  return shown;
}

// Returns one row per rank, or the ranks with the least and the most.
std::vector<std::size_t> shown_ranks(const std::vector<MemoryUse>& memory) {
  std::vector<std::size_t> ranks(memory.size());
  std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  if (memory.size() <= kMostRanks) return ranks;
  const auto [least, most] = std::ranges::minmax_element(memory, {}, [](const MemoryUse& use) {
    return std::pair(use.peak_allocated, use.peak_resident);
  });
  return {static_cast<std::size_t>(least - memory.begin()),
          static_cast<std::size_t>(most - memory.begin())};
}

std::string memory_text(const std::vector<MemoryUse>& memory) {
  const auto columns = shown_columns(memory);
  if (columns.empty()) return "";
  const auto ranks = shown_ranks(memory);
  std::vector<std::string> header{"rank"};
  for (const auto& column : columns) header.emplace_back(column.name);
  Table table(header);
  for (const std::size_t rank : ranks) {
    std::vector<std::string> row{std::to_string(rank)};
    for (const auto& column : columns) row.push_back(to_string(memory[rank].*column.bytes));
    table.add(row);
  }
  const bool is_cut = ranks.size() < memory.size();
  return block(is_cut ? "memory, the ranks with the least and the most" : "memory per rank", table);
}

}  // namespace

std::string start_page(const RunInfo& info) {
  Table facts;
  add_fact(facts, "model", model_text(info));
  add_fact(facts, "ranks", ranks_text(info));
  add_fact(facts, "device", info.device);
  add_fact(facts, "peak", peak_text(info));
  add_fact(facts, "precision", info.precision);
  add_fact(facts, "data", info.data);
  add_fact(facts, "batch", info.batch);
  add_fact(facts, "steps", steps_text(info));
  std::string page = fmt::format("sheaf {}\n\n{}", version(), indented(facts.str(), "  "));
  if (!info.memory.empty()) page += block("memory per rank", planned_memory(info));
  return page + "\n";
}

std::string end_page(const RunInfo& info, const Summary& summary) {
  Table facts;
  if (summary.steps > 0) {
    add_fact(facts, "loss", fmt::format("{:.4f} -> {:.4f}", summary.first_loss, summary.last_loss));
  }
  if (summary.evaluation) {
    add_fact(facts,
             "evaluation",
             fmt::format("{} (step {})",
                         evaluation_text(info, *summary.evaluation),
                         grouped(summary.evaluation->step)));
  }
  add_speeds(facts, info, summary.progress);
  add_utilisation(facts, info, summary);
  add_fact(facts, "epochs", epochs_text(summary.epochs));
  add_fact(facts, "slow rank", straggler_text(summary));
  add_fact(facts, "cost", cost_text(info, summary.progress));
  add_fact(facts, "exported", summary.exported);
  return "\n" + headline(info, summary) + "\n\n" + indented(facts.str(), "  ") +
         time_page(summary) + memory_text(summary.memory);
}

}  // namespace sheaf::train
