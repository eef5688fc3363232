#include "train/sync_check.h"

#include <fmt/format.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <map>

#include "comm/watch/group_log.h"
#include "sheaf/sharding/strategy.h"
#include "train/fingerprints.h"

namespace sheaf::train {
namespace {

/// Fingerprints of each unit: of the parts that a rank steps, and of the whole parameters that it
/// computes with.
constexpr std::size_t kPerUnit = 2;

/// Splits ranks that should have the same into those that do; empty where all have.
std::vector<std::vector<int>> factions(const std::map<std::uint64_t, std::vector<int>>& by_value) {
  std::vector<std::vector<int>> sides;
  if (by_value.size() < 2) return sides;
  for (const auto& [value, ranks] : by_value) sides.push_back(ranks);
  // Most ranks are right, as a rule; of equal numbers nobody knows.
  std::ranges::sort(sides, [](const std::vector<int>& a, const std::vector<int>& b) {
    return a.size() != b.size() ? a.size() > b.size() : a.front() < b.front();
  });
  return sides;
}

std::string describe(const std::vector<std::vector<int>>& sides) {
  if (sides[0].size() == sides[1].size()) {
    return fmt::format(
        "{} and {} differ", comm::list_of_ranks(sides[0]), comm::list_of_ranks(sides[1]));
  }
  std::vector<int> odd;
  for (std::size_t i = 1; i < sides.size(); ++i) {
    odd.insert(odd.end(), sides[i].begin(), sides[i].end());
  }
  std::ranges::sort(odd);
  return fmt::format("{} differ{} from {}",
                     comm::list_of_ranks(odd),
                     odd.size() == 1 ? "s" : "",
                     comm::list_of_ranks(sides[0]));
}

}  // namespace

SyncCheck::SyncCheck(const RunOptions& options, const Assembly& parts)
    : options_(options), parts_(parts) {
  const sharding::Strategy strategy = sharding::parse_strategy(options.shard.stage);
  cuts_state_ = strategy.stage != Stage::ddp;
  keeps_whole_ = strategy.stage != Stage::zero3;
}

bool SyncCheck::is_due(std::int64_t step, bool last) const {
  const std::int64_t every = options_.fault.sync_every;
  if (every == 0) return false;
  const std::int64_t saves = options_.checkpoint.every;
  return last || step % every == 0 || (saves > 0 && step % saves == 0);
}

std::optional<std::string> SyncCheck::find_difference(std::int64_t step) const {
  const comm::Group& world = parts_.mesh.world();
  const auto found = compare(gather_over_ranks(world, own_fingerprints()));
  if (!found) return std::nullopt;
  return fmt::format("the weights are out of sync after step {}: {}", step, *found);
}

std::vector<std::uint64_t> SyncCheck::own_fingerprints() const {
  const auto units = units_of_parameters(parts_.state);
  std::vector<std::uint64_t> values(parts_.state.units().size() * kPerUnit);
  for (const sharding::Slice& slice : parts_.state.kept_slices()) {
    const auto unit = units.find(slice.name);
    if (unit == units.end() || slice.values.numel() == 0) continue;
    std::uint64_t& value = values[unit->second * kPerUnit];
    value = fingerprint_of(slice.values, value);
  }
  if (keeps_whole_) {
    const auto readable = parts_.state.summon(*parts_.model);
    for (const auto& item : parts_.model->named_parameters()) {
      const auto unit = units.find(item.key());
      if (unit == units.end()) continue;
      std::uint64_t& value = values[unit->second * kPerUnit + 1];
      value = fingerprint_of(item.value(), value);
    }
  }
  return values;
}

/// Masters are the same on ranks with the same place along the axis that cuts them, whole
/// parameters on all ranks.
std::optional<std::string> SyncCheck::compare(const std::vector<std::uint64_t>& all) const {
  const auto ranks = static_cast<std::size_t>(parts_.mesh.world().size());
  const std::size_t per_rank = all.size() / ranks;
  const auto cut = static_cast<std::size_t>(cuts_state_ ? parts_.mesh.size("shard") : 1);
  const std::vector<sharding::UnitInfo> units = parts_.state.units();
  std::string first;
  std::size_t num_units = 0;
  for (std::size_t u = 0; u < units.size(); ++u) {
    std::vector<std::vector<int>> sides;
    for (std::size_t i = 0; i < kPerUnit && sides.empty(); ++i) {
      const std::size_t places = i == 0 ? cut : 1;
      for (std::size_t place = 0; place < places && sides.empty(); ++place) {
        std::map<std::uint64_t, std::vector<int>> by_value;
        for (std::size_t r = place; r < ranks; r += places) {
          by_value[all[r * per_rank + u * kPerUnit + i]].push_back(static_cast<int>(r));
        }
        sides = factions(by_value);
      }
    }
    if (sides.empty()) continue;
    ++num_units;
    if (first.empty()) first = fmt::format("{} in unit {}", describe(sides), units[u].name);
  }
  if (num_units == 0) return std::nullopt;
  return num_units == 1 ? first : fmt::format("{}, and in {} more", first, num_units - 1);
}

}  // namespace sheaf::train
