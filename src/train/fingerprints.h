#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sheaf/comm/group.h"
#include "sheaf/sharding/state.h"

namespace sheaf::train {

/// Returns a number of the values' bytes. It goes on from `before`, so that several tensors make
/// one number.
[[nodiscard]] std::uint64_t fingerprint_of(const at::Tensor& values, std::uint64_t before);

/// Returns the number of the unit that each parameter is in.
[[nodiscard]] std::map<std::string, std::size_t> units_of_parameters(const sharding::State& state);

/// Returns every rank's numbers, one rank after the other. All ranks have as many, and must call
/// it.
[[nodiscard]] std::vector<std::uint64_t> gather_over_ranks(const comm::Group& world,
                                                           const std::vector<std::uint64_t>& own);

}  // namespace sheaf::train
