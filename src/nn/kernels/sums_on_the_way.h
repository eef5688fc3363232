#pragma once

#include <ATen/ops/empty.h>

#include "column_sums_kernel.h"
#include "on_cuda.h"
#include "pending_sums.h"
#include "vector_target.h"

namespace sheaf::nn {

/// Says whether kernels can put sums there.
[[nodiscard]] inline bool can_take_sums(const VectorTarget& target) {
  return element_type(target.memory.scalar_type()).has_value() && target.memory.is_contiguous();
}

/// Puts the totals of parts into `target`, now or later. Fills in where they go.
inline void put_totals(PartsSum sum,
                       const at::Tensor& parts,
                       const VectorTarget& target,
                       const Launch& launch) {
  sum.type = element_type(target.memory.scalar_type()).value();
  sum.target = target.memory.mutable_data_ptr();
  sum.adds = target.adds;
  if (target.later != nullptr) return target.later->add(sum, parts, target.beside);
  launch_sums_of_parts({&sum, 1}, launch.stream());
}

/// Starts a kernel that adds up columns in parts on its way (column_parts.cuh), with memory for
/// them, and puts their totals into `target`. `All` has num_rows, width, in_chunks, num_parts and
/// parts, of which the last two are filled in here.
template <class All>
void launch_with_sums(void (*start)(const All&, void*),
                      All all,
                      const at::Tensor& like,
                      const VectorTarget& target,
                      const Launch& launch) {
  all.num_parts =
      num_column_parts({.num_rows = all.num_rows, .width = all.width, .in_chunks = all.in_chunks},
                       launch.num_multiprocessors());
  const at::Tensor parts = at::empty({all.num_parts, all.width}, like.options().dtype(at::kFloat));
  all.parts = parts.mutable_data_ptr<float>();
  start(all, launch.stream());
  put_totals(
      {.parts = all.parts, .num_parts = all.num_parts, .stride = all.width, .width = all.width},
      parts,
      target,
      launch);
}

}  // namespace sheaf::nn
