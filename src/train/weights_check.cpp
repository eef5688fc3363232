#include "weights_check.h"

#include <ATen/core/grad_mode.h>
#include <torch/nn/module.h>

#include <bit>
#include <map>
#include <span>
#include <string>

#include "base/checksum.h"

namespace sheaf::train {
namespace {

std::uint64_t checksum_of_tensor(const at::Tensor& tensor, std::uint64_t seed) {
  const at::Tensor values = tensor.detach().cpu().contiguous();
  return sheaf::checksum_of(
      std::as_bytes(std::span(static_cast<const char*>(values.const_data_ptr()), values.nbytes())),
      seed);
}

/// One number for each unit, in the order of the state's units; the last is for what is in none.
std::vector<std::uint64_t> own_checksums(const Assembly& parts) {
  std::map<std::string, std::size_t> unit_of;
  const auto units = parts.state.units();
  for (std::size_t u = 0; u < units.size(); ++u) {
    for (const std::string& name : units[u].parameters) unit_of[name] = u;
  }
  std::vector<std::uint64_t> sums(units.size() + 1);
  for (const auto& module : parts.model->named_modules()) {
    const auto parameters = module.value()->named_parameters(/*recurse=*/false);
    if (parameters.is_empty()) continue;
    const auto whole = parts.state.summon(*module.value());
    for (const auto& parameter : parameters) {
      const std::string name =
          module.key().empty() ? parameter.key() : module.key() + "." + parameter.key();
      const auto found = unit_of.find(name);
      std::uint64_t& sum = sums[found == unit_of.end() ? units.size() : found->second];
      sum = checksum_of_tensor(parameter.value(), sum);
    }
  }
  return sums;
}

/// Returns the value that most ranks have; of several the first rank's.
std::int64_t commonest(const at::Tensor& by_rank) {
  std::map<std::int64_t, int> counts;
  std::int64_t best = by_rank[0].item<std::int64_t>();
  for (std::int64_t rank = 0; rank < by_rank.size(0); ++rank) {
    ++counts[by_rank[rank].item<std::int64_t>()];
  }
  for (const auto& [value, count] : counts) {
    if (count > counts[best]) best = value;
  }
  return best;
}

}  // namespace

std::vector<OddWeights> find_odd_weights(const Assembly& parts) {
  const at::NoGradGuard no_grad;
  const comm::Group& world = parts.mesh.world();
  const auto sums = own_checksums(parts);
  const auto count = static_cast<std::int64_t>(sums.size());
  const at::Tensor mine = at::empty({count}, at::kLong);
  for (std::int64_t i = 0; i < count; ++i) mine[i] = std::bit_cast<std::int64_t>(sums[i]);
  const at::Tensor all = at::empty({count * world.size()}, mine.options().device(parts.device));
  world.all_gather(all, mine.to(parts.device), {.purpose = comm::Purpose::control}).wait();
  const at::Tensor table = all.cpu().view({world.size(), count});
  const auto units = parts.state.units();
  std::vector<OddWeights> odd;
  for (std::int64_t u = 0; u < count; ++u) {
    const at::Tensor by_rank = table.select(1, u);
    const std::int64_t right = commonest(by_rank);
    for (int rank = 0; rank < world.size(); ++rank) {
      if (by_rank[rank].item<std::int64_t>() == right) continue;
      odd.push_back({.rank = rank, .unit = u + 1 < count ? units[u].name : "outside of units"});
    }
  }
  return odd;
}

}  // namespace sheaf::train
