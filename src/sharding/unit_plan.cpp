#include "unit_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sheaf/base/error.h"
#include "sheaf/base/nearest.h"

namespace sheaf::sharding {
namespace {

using Chosen = std::set<std::size_t>;

/// Parameters of each module that lie in it or below, each tensor once per module.
std::vector<std::int64_t> elements_below(const Inventory& inventory) {
  std::vector<std::int64_t> counts(inventory.modules.size(), 0);
  for (const ParameterInfo& parameter : inventory.parameters) {
    std::set<std::size_t> around;
    for (std::size_t module : parameter.owners) {
      for (; module != 0; module = inventory.modules[module].parent) around.insert(module);
    }
    around.insert(0);
    for (const std::size_t module : around) counts[module] += parameter.tensor.numel();
  }
  return counts;
}

bool is_type(const std::string& type, const std::string& wanted) {
  const auto matches = [&](std::string_view full) {
    if (full == wanted) return true;
    return full.size() > wanted.size() + 2 && full.ends_with(wanted) &&
           full.substr(full.size() - wanted.size() - 2, 2) == "::";
  };
  const std::string_view full = type;
  return matches(full) || (full.ends_with("Impl") && matches(full.substr(0, full.size() - 4)));
}

void choose_by_type(const Inventory& inventory, const WrapOptions& wrap, Chosen& chosen) {
  for (const std::string& wanted : wrap.types) {
    bool found = false;
    for (std::size_t m = 1; m < inventory.modules.size(); ++m) {
      if (!is_type(inventory.modules[m].type, wanted)) continue;
      chosen.insert(m);
      found = true;
    }
    if (found) continue;
    throw UsageError(fmt::format("wrap.types: the model has no module of type \"{}\"", wanted));
  }
}

void choose_by_name(const Inventory& inventory, const WrapOptions& wrap, Chosen& chosen) {
  for (const std::string& wanted : wrap.names) {
    const auto found = std::find_if(inventory.modules.begin(),
                                    inventory.modules.end(),
                                    [&](const ModuleInfo& info) { return info.name == wanted; });
    if (found == inventory.modules.end() || wanted.empty()) {
      std::vector<std::string> names;
      for (const ModuleInfo& info : inventory.modules) names.push_back(info.name);
      const auto near = nearest(wanted, names);
      throw UsageError(fmt::format("wrap.names: the model has no module \"{}\"{}",
                                   wanted,
                                   near ? fmt::format("; did you mean \"{}\"?", *near) : ""));
    }
    chosen.insert(static_cast<std::size_t>(found - inventory.modules.begin()));
  }
}

/// Inner modules first: what they take does not count for those around them.
void choose_by_size(const Inventory& inventory, std::int64_t min_parameters, Chosen& chosen) {
  std::vector<std::int64_t> left = elements_below(inventory);
  for (std::size_t m = inventory.modules.size() - 1; m > 0; --m) {
    if (left[m] < min_parameters && !chosen.contains(m)) continue;
    const std::int64_t taken = left[m];
    chosen.insert(m);
    for (std::size_t around = inventory.modules[m].parent;;
         around = inventory.modules[around].parent) {
      left[around] -= taken;
      if (around == 0) break;
    }
  }
}

/// Looks from the root inwards for siblings of one type: the blocks of a model.
void choose_repeated(const Inventory& inventory, Chosen& chosen) {
  const std::vector<std::int64_t> elements = elements_below(inventory);
  std::map<std::pair<std::size_t, std::string>, int> siblings;
  for (std::size_t m = 1; m < inventory.modules.size(); ++m) {
    if (elements[m] > 0) ++siblings[{inventory.modules[m].parent, inventory.modules[m].type}];
  }
  for (std::size_t m = 1; m < inventory.modules.size(); ++m) {
    const ModuleInfo& info = inventory.modules[m];
    const bool repeats = elements[m] > 0 && siblings[{info.parent, info.type}] > 1;
    const bool inside = std::any_of(chosen.begin(), chosen.end(), [&](std::size_t outer) {
      return lies_in(inventory, m, outer);
    });
    if (repeats && !inside) chosen.insert(m);
  }
}

Chosen choose_modules(const Inventory& inventory,
                      const ShardOptions& options,
                      const std::vector<BlockClaim>& claims) {
  Chosen chosen;
  for (const BlockClaim& claim : claims) chosen.insert(claim.module);
  choose_by_type(inventory, options.wrap, chosen);
  choose_by_name(inventory, options.wrap, chosen);
  if (options.wrap.min_parameters > 0) {
    choose_by_size(inventory, options.wrap.min_parameters, chosen);
  } else if (chosen.empty() && options.policy != Policy::flat) {
    choose_repeated(inventory, chosen);
  }
  chosen.insert(0);
  return chosen;
}

std::size_t innermost(const Inventory& inventory, const Chosen& chosen, std::size_t module) {
  while (!chosen.contains(module)) module = inventory.modules[module].parent;
  return module;
}

/// Returns the chosen module that a parameter belongs to: the innermost around all its owners.
std::size_t home_of(const Inventory& inventory, const Chosen& chosen, const ParameterInfo& info) {
  std::size_t home = innermost(inventory, chosen, info.owners.front());
  const auto holds_all = [&] {
    return std::all_of(info.owners.begin(), info.owners.end(), [&](std::size_t owner) {
      return lies_in(inventory, owner, home);
    });
  };
  while (!holds_all()) home = innermost(inventory, chosen, inventory.modules[home].parent);
  return home;
}

std::vector<UnitPlan> plan_wrapped(const Inventory& inventory,
                                   const ShardOptions& options,
                                   const std::vector<BlockClaim>& claims) {
  const Chosen chosen = choose_modules(inventory, options, claims);
  std::map<std::size_t, UnitPlan> by_module;
  for (std::size_t p = 0; p < inventory.parameters.size(); ++p) {
    const std::size_t home = home_of(inventory, chosen, inventory.parameters[p]);
    by_module[home].parameters.push_back(p);
  }
  std::vector<UnitPlan> units;
  for (auto& [module, unit] : by_module) {
    unit.name = module == 0 ? "(root)" : inventory.modules[module].name;
    unit.module = module;
    unit.reshard_after_forward = options.reshard_after_forward;
    for (const BlockClaim& claim : claims) {
      if (claim.module != module) continue;
      unit.reshard_after_forward =
          claim.options.reshard_after_forward.value_or(options.reshard_after_forward);
    }
    units.push_back(std::move(unit));
  }
  if (units.size() > 1 && units.front().is_root()) {
    std::rotate(units.begin(), units.begin() + 1, units.end());
  }
  return units;
}

std::vector<UnitPlan> plan_whole(const Inventory& inventory, const ShardOptions& options) {
  std::vector<std::size_t> trainable;
  std::vector<Bytes> sizes;
  for (std::size_t p = inventory.parameters.size(); p-- > 0;) {
    const ParameterInfo& info = inventory.parameters[p];
    if (!info.trainable) continue;
    trainable.push_back(p);
    sizes.push_back({static_cast<std::int64_t>(info.tensor.nbytes())});
  }
  if (trainable.empty()) return {};
  if (options.policy == Policy::flat) {
    return {{.name = "flat", .parameters = std::move(trainable)}};
  }
  std::vector<UnitPlan> units;
  for (const auto& bucket : layout::assign_buckets(sizes, options.buckets)) {
    UnitPlan unit{.name = fmt::format("bucket {}", units.size())};
    for (const std::size_t member : bucket) unit.parameters.push_back(trainable[member]);
    units.push_back(std::move(unit));
  }
  return units;
}

}  // namespace

std::vector<UnitPlan> plan_units(const Inventory& inventory,
                                 const ShardOptions& options,
                                 const std::vector<BlockClaim>& claims) {
  const bool wrapped = options.stage == Stage::zero3;
  if (wrapped && options.policy == Policy::bucketed) {
    throw UsageError("zero3 gathers what a module needs: its policy is wrap or flat, got bucketed");
  }
  const WrapOptions& wrap = options.wrap;
  const bool chooses =
      !claims.empty() || !wrap.types.empty() || !wrap.names.empty() || wrap.min_parameters > 0;
  if (wrapped && options.policy == Policy::flat && chooses) {
    throw UsageError(
        "zero3 with the policy flat is one unit, but modules were chosen for units of their own, "
        "by "
        "wrap or fully_shard(block): leave out the one or the other");
  }
  if (!wrapped && options.policy == Policy::wrap) {
    throw UsageError("the policy wrap is for zero3; other stages take flat or bucketed");
  }
  return wrapped ? plan_wrapped(inventory, options, claims) : plan_whole(inventory, options);
}

}  // namespace sheaf::sharding
