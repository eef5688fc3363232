#include "out_of_memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "holder_groups.h"
#include "model_source.h"
#include "sheaf/base/table.h"
#include "sheaf/plan/memory.h"
#include "sheaf/train/memory_use.h"
#include "sheaf/train/parallelize.h"
#include "sheaf/train/prediction.h"
#include "train/figures.h"

namespace sheaf::train {
namespace {

constexpr std::size_t kWays = 3;
// More than are told, since a run's other options may forbid some.
constexpr std::size_t kTriedWays = 8;

struct Changed {
  RunOptions options;
  int ranks = 1;
};

/// Returns a run with a way's changes in it.
Changed apply(const plan::WayOut& way, const RunOptions& options, int ranks) {
  Changed changed{options, ranks};
  std::vector<Field> fields = fields_of(changed.options);
  for (const auto& [name, value] : way.fields) {
    if (name == "ranks") changed.ranks = std::stoi(value);
    if (Field* const field = find_field(fields, name)) field->set(value);
  }
  return changed;
}

/// A folder has a shape of its own, and a batch must be a multiple of its parts.
bool is_allowed(const plan::WayOut& way, const RunOptions& options, int ranks) {
  const Changed changed = apply(way, options, ranks);
  const BatchOptions& batch = changed.options.batch;
  if (batch.micro > 0 && batch.global % (batch.micro * changed.ranks) != 0) return false;
  try {
    check_options(changed.options, changed.ranks);
    static_cast<void>(shape_of(changed.options));
  } catch (const UsageError&) {
    return false;
  }
  return true;
}

std::string flags_of(const plan::WayOut& way) {
  std::vector<std::string> flags;
  flags.reserve(way.fields.size());
  for (const auto& [name, value] : way.fields) flags.push_back(fmt::format("--{}={}", name, value));
  return fmt::format("{}", fmt::join(flags, " "));
}

std::string holders_text(const std::string& title,
                         const std::vector<HolderGroup>& groups,
                         Bytes all) {
  Table table;
  for (const HolderGroup& group : groups) {
    const double part = static_cast<double>(group.bytes.count) / static_cast<double>(all.count);
    table.add({"  " + group.name, to_string(group.bytes), percent_text(part)});
  }
  table.add({"  in all", to_string(all), percent_text(1)});
  return title + "\n" + table.str();
}

std::string ways_text(const std::vector<plan::WayOut>& ways) {
  if (ways.empty()) return "no single change of this run would make it fit\n";
  Table table;
  for (const plan::WayOut& way : ways) {
    table.add({"  " + flags_of(way), way.meaning, "peak " + to_string(way.peak) + ", predicted"});
  }
  return fmt::format(
      "what would fit{}\n{}", ways.size() > 1 ? ", each by itself" : "", table.str());
}

std::string advice(const std::vector<plan::WayOut>& ways) {
  std::vector<std::string> flags;
  flags.reserve(ways.size());
  for (const plan::WayOut& way : ways) flags.push_back(flags_of(way));
  return flags.empty() ? "" : fmt::format("; try {}", fmt::join(flags, ", or "));
}

/// What a GPU's run should hold where nobody has counted.
std::vector<HolderGroup> predicted_groups(const plan::Prediction& prediction) {
  std::vector<HolderGroup> groups;
  for (const memory::Purpose purpose : memory::all_purposes()) {
    if (prediction.at_peak[purpose].count == 0) continue;
    groups.push_back({std::string(name(purpose)), prediction.at_peak[purpose]});
  }
  std::ranges::stable_sort(groups, std::ranges::greater(), &HolderGroup::bytes);
  return groups;
}

}  // namespace

std::vector<plan::WayOut> ways_out(const RunOptions& options, int ranks, Bytes limit) {
  const auto run = planned_run(options, ranks);
  if (!run) return {};
  std::vector<plan::WayOut> ways = plan::ways_out(*run, limit, kTriedWays);
  std::erase_if(ways, [&](const auto& way) { return !is_allowed(way, options, ranks); });
  if (ways.size() > kWays) ways.resize(kWays);
  return ways;
}

RunOutOfMemory out_of_memory(const memory::OutOfMemory& error,
                             const RunOptions& options,
                             int ranks) {
  const memory::OutOfMemory::Facts& facts = error.facts();
  const auto groups = grouped_holders(facts.holders);
  // What the system would have given is not known, only what it gave.
  const auto ways = ways_out(options, ranks, facts.limit.count > 0 ? facts.limit : facts.in_use);
  const std::string largest = groups.empty() ? ""
                                             : fmt::format("; most was held by {}, {}",
                                                           groups.front().name,
                                                           to_string(groups.front().bytes));
  return {error.what() + largest + advice(ways),
          holders_text("what held the memory of this rank", groups, facts.in_use) + "\n" +
              ways_text(ways)};
}

RunOutOfMemory out_of_memory(const c10::OutOfMemoryError& /*error*/,
                             const RunOptions& options,
                             int ranks) {
  // The run is gone by now, and its tensors with it: only the peak knows of them.
  const MemoryUse use = measure_memory(device_of(options.comm));
  const Bytes had = std::max(use.peak_allocated, use.reserved);
  const Bytes limit = options.memory.limit.count > 0 ? options.memory.limit : had;
  const auto ways = ways_out(options, ranks, limit);
  std::string page;
  if (const auto run = planned_run(options, ranks)) {
    const plan::Prediction prediction = plan::predict_memory(run->model, run->setting);
    page = holders_text(fmt::format("what a step takes, as predicted in {}", prediction.moment),
                        predicted_groups(prediction),
                        prediction.peak) +
           "\n";
  }
  return {fmt::format("out of memory: the device's allocator had up to {} in use, of {} reserved{}",
                      to_string(use.peak_allocated),
                      to_string(had),
                      advice(ways)),
          page + ways_text(ways)};
}

}  // namespace sheaf::train
