#include "full_check.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <cstring>
#include <map>

#include "group_log.h"

namespace sheaf::comm {

std::optional<std::string> disagreement_before(Backend& backend,
                                               const Members& members,
                                               const CallRecord& call) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(CallRecord));
  const at::Tensor own = at::empty({kSize}, at::kByte);
  std::memcpy(own.mutable_data_ptr(), &call, sizeof(call));
  const at::Tensor gathered =
      at::empty({kSize * members.size()}, at::TensorOptions(backend.device()).dtype(at::kByte));
  backend.all_gather(gathered, own.to(backend.device()));
  const at::Tensor all = gathered.cpu();
  std::map<std::string, std::vector<int>> callers;
  bool differs = false;
  for (int m = 0; m < members.size(); ++m) {
    CallRecord other;
    std::memcpy(static_cast<void*>(&other),
                static_cast<const std::byte*>(all.const_data_ptr()) + kSize * m,
                sizeof(other));
    differs = differs || fingerprint_of(other) != fingerprint_of(call);
    callers[describe(other)].push_back(members.world_ranks[static_cast<std::size_t>(m)]);
  }
  if (!differs) return std::nullopt;
  std::string sentence = "ranks disagree: ";
  for (const auto& [what, ranks] : callers) {
    sentence += fmt::format("{} called {}, ", list_of_ranks(ranks), what);
  }
  return sentence + "which was found before anything was exchanged";
}

}  // namespace sheaf::comm
