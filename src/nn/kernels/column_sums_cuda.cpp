#include "column_sums_cuda.h"

#include <algorithm>

#include "sums_on_the_way.h"

namespace sheaf::nn {

int num_column_parts(const ColumnRows& all, int num_multiprocessors) {
  // As many as run at once.
  constexpr std::int64_t kBlocksPerMultiprocessor = 4, kRounds = 2, kFewestRows = 32;
  const std::int64_t at_once = num_multiprocessors * kBlocksPerMultiprocessor / all.num_blocks();
  const std::int64_t most = (all.num_rows + kFewestRows - 1) / kFewestRows;
  // A second round that is not full would take as long as one that is.
  const std::int64_t wanted = most < at_once * kRounds ? at_once : at_once * kRounds;
  return static_cast<int>(std::clamp<std::int64_t>(wanted, 1, most));
}

bool column_sums_on_cuda(const at::Tensor& rows, const VectorTarget& target) {
  const auto type = element_type(rows.scalar_type());
  if (!type || rows.numel() == 0 || rows.stride(1) != 1 || !can_take_sums(target)) return false;
  const void* const from = rows.const_data_ptr();
  const ColumnRows all{.type = *type,
                       .rows = from,
                       .num_rows = rows.size(0),
                       .width = rows.size(1),
                       .stride = rows.stride(0),
                       .in_chunks = fit_chunks(rows.size(1), rows.stride(0), from)};
  launch_with_sums(&launch_column_parts, all, rows, target, Launch(rows));
  return true;
}

}  // namespace sheaf::nn
