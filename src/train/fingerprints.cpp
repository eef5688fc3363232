#include "fingerprints.h"

#include <ATen/ops/empty.h>

#include <cstring>

#include "base/checksum.h"

namespace sheaf::train {

std::uint64_t fingerprint_of(const at::Tensor& values, std::uint64_t before) {
  const at::Tensor host = values.detach().cpu().contiguous();
  return checksum_of({static_cast<const std::byte*>(host.const_data_ptr()),
                      static_cast<std::size_t>(host.nbytes())},
                     before);
}

std::map<std::string, std::size_t> units_of_parameters(const sharding::State& state) {
  std::map<std::string, std::size_t> units;
  const std::vector<sharding::UnitInfo> infos = state.units();
  for (std::size_t u = 0; u < infos.size(); ++u) {
    for (const std::string& name : infos[u].parameters) units[name] = u;
  }
  return units;
}

std::vector<std::uint64_t> gather_over_ranks(const comm::Group& world,
                                             const std::vector<std::uint64_t>& own) {
  const auto size = static_cast<std::int64_t>(own.size());
  // Exchanged as signed numbers, the widest that all backends carry; the bits are the same.
  const at::Tensor mine = at::empty({size}, at::kLong);
  std::memcpy(mine.mutable_data_ptr(), own.data(), mine.nbytes());
  const auto on_device = at::TensorOptions(world.device()).dtype(at::kLong);
  const at::Tensor gathered = at::empty({size * world.size()}, on_device);
  world.all_gather(gathered, mine.to(world.device()), {.purpose = comm::Purpose::control}).wait();
  const at::Tensor host = gathered.cpu();
  std::vector<std::uint64_t> all(static_cast<std::size_t>(host.numel()));
  std::memcpy(all.data(), host.const_data_ptr(), host.nbytes());
  return all;
}

}  // namespace sheaf::train
