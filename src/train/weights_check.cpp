#include "weights_check.h"

#include <ATen/core/grad_mode.h>
#include <torch/nn/module.h>

#include <map>
#include <string>

#include "fingerprints.h"

namespace sheaf::train {
namespace {

/// One number for each unit, in the order of the state's units; the last is for what is in none.
std::vector<std::uint64_t> own_fingerprints(const Assembly& parts, std::size_t num_units) {
  const auto unit_of = units_of_parameters(parts.state);
  std::vector<std::uint64_t> values(num_units + 1);
  for (const auto& module : parts.model->named_modules()) {
    const auto parameters = module.value()->named_parameters(/*recurse=*/false);
    if (parameters.is_empty()) continue;
    const auto whole = parts.state.summon(*module.value());
    for (const auto& parameter : parameters) {
      const std::string name =
          module.key().empty() ? parameter.key() : module.key() + "." + parameter.key();
      const auto found = unit_of.find(name);
      std::uint64_t& value = values[found == unit_of.end() ? num_units : found->second];
      value = fingerprint_of(parameter.value(), value);
    }
  }
  return values;
}

/// Returns the value that most ranks have; of several the first rank's.
std::uint64_t commonest(const std::vector<std::uint64_t>& by_rank) {
  std::map<std::uint64_t, int> counts;
  for (const std::uint64_t value : by_rank) ++counts[value];
  std::uint64_t best = by_rank.front();
  for (const auto& [value, count] : counts) {
    if (count > counts[best]) best = value;
  }
  return best;
}

}  // namespace

std::vector<OddWeights> find_odd_weights(const Assembly& parts) {
  const at::NoGradGuard no_grad;
  const comm::Group& world = parts.mesh.world();
  const auto units = parts.state.units();
  const std::size_t count = units.size() + 1;
  const auto all = gather_over_ranks(world, own_fingerprints(parts, units.size()));
  std::vector<OddWeights> odd;
  for (std::size_t u = 0; u < count; ++u) {
    std::vector<std::uint64_t> by_rank;
    for (std::size_t at = u; at < all.size(); at += count) by_rank.push_back(all[at]);
    const std::uint64_t right = commonest(by_rank);
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
      if (by_rank[rank] == right) continue;
      odd.push_back({.rank = static_cast<int>(rank),
                     .unit = u < units.size() ? units[u].name : "outside of units"});
    }
  }
  return odd;
}

}  // namespace sheaf::train
