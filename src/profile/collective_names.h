#pragma once

#include <optional>
#include <string_view>

namespace sheaf::profile {

/// Tells whether a kernel on a GPU exchanges data between ranks: NCCL's and sheaf's own.
[[nodiscard]] bool is_exchange_kernel(std::string_view name);

/// Returns which collective an operator, range or kernel of PyTorch's or NCCL's is, such as
/// "all_gather" for ncclDevKernel_AllGather_RING_LL; unset for what is none.
[[nodiscard]] std::optional<std::string_view> collective_of(std::string_view name);

}  // namespace sheaf::profile
