#include "join_columns_kernel.h"

#include "column_parts.cuh"
#include "launch.cuh"

namespace sheaf::nn {
namespace {

/// Where a column of the result comes from: its first row, and how far apart rows are there.
template <class T>
struct Origin {
  __device__ Origin(const JoinedColumns& all, std::int64_t column)
      : first(static_cast<const T*>(all.sources[0])), stride(all.widths[0]) {
    // Without an index that is known only at run time, which would put the lists into memory.
#pragma unroll
    for (int i = 1; i < JoinedColumns::kMost; ++i) {
      if (i < all.num_sources && column >= all.widths[i - 1]) {
        column -= all.widths[i - 1];
        first = static_cast<const T*>(all.sources[i]);
        stride = all.widths[i];
      } else {
        break;
      }
    }
    first += column;
  }

  const T* first;
  std::int64_t stride;
};

template <class T, int kWidth>
__global__ void __launch_bounds__(kWarp* kColumnWarps) join_columns_kernel(JoinedColumns all) {
  sum_columns<kWidth, /*kUnrolled=*/4>(all, [&](std::int64_t column) {
    const Origin<T> from(all, column);
    T* const to = static_cast<T*>(all.joined) + column;
    return [from, to, width = all.width](std::int64_t row) {
      const Values<kWidth> values = load_values<kWidth>(from.first + row * from.stride);
      store_values<kWidth>(to + row * width, values);
      return values;
    };
  });
}

}  // namespace

void launch_join_columns(const JoinedColumns& all, void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  with_type(all.type, [&]<class T>(T) {
    if (all.in_chunks) {
      join_columns_kernel<T, kChunk>
          <<<column_blocks<kChunk>(all), column_threads(), 0, queue>>>(all);
    } else {
      join_columns_kernel<T, 1><<<column_blocks<1>(all), column_threads(), 0, queue>>>(all);
    }
  });
  check_launch("matrices side by side");
}

}  // namespace sheaf::nn
