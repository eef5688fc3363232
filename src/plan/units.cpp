#include "sheaf/plan/units.h"

#include <map>
#include <numeric>

#include "sheaf/layout/buckets.h"
#include "sheaf/layout/flat_layout.h"

namespace sheaf::plan {
namespace {

Unit unit_of(std::vector<std::size_t> members,
             const std::vector<Parameter>& parameters,
             const Setting& setting) {
  std::vector<std::int64_t> numels;
  numels.reserve(members.size());
  for (const std::size_t p : members) numels.push_back(parameters[p].numel);
  const layout::FlatLayout layout(
      numels, {.num_shards = setting.num_shards(), .alignment = layout::kParameterAlignment});
  return {
      .parameters = std::move(members), .size = layout.size(), .shard_size = layout.shard_size()};
}

std::vector<Unit> units_of_blocks(const std::vector<Parameter>& parameters,
                                  const Setting& setting) {
  std::map<int, std::vector<std::size_t>> members;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    members[setting.flat ? kNoBlock : parameters[p].block].push_back(p);
  }
  std::vector<Unit> units;
  for (auto& [block, own] : members) {
    if (block == kNoBlock) continue;
    units.push_back(unit_of(std::move(own), parameters, setting));
    units.back().block = block;
  }
  units.push_back(unit_of(std::move(members[kNoBlock]), parameters, setting));
  return units;
}

std::vector<Unit> units_of_buckets(const std::vector<Parameter>& parameters,
                                   const Setting& setting) {
  std::vector<std::size_t> reversed(parameters.size());
  std::iota(reversed.rbegin(), reversed.rend(), std::size_t{0});
  if (setting.flat) return {unit_of(std::move(reversed), parameters, setting)};
  std::vector<Bytes> sizes;
  sizes.reserve(reversed.size());
  for (const std::size_t p : reversed) sizes.push_back({4 * parameters[p].numel});
  std::vector<Unit> units;
  for (const auto& bucket : layout::assign_buckets(sizes, setting.buckets)) {
    std::vector<std::size_t> members;
    members.reserve(bucket.size());
    for (const std::size_t place : bucket) members.push_back(reversed[place]);
    units.push_back(unit_of(std::move(members), parameters, setting));
  }
  return units;
}

}  // namespace

std::vector<Unit> units_of(const std::vector<Parameter>& parameters, const Setting& setting) {
  return setting.cuts_parameters() ? units_of_blocks(parameters, setting)
                                   : units_of_buckets(parameters, setting);
}

}  // namespace sheaf::plan
