#include "rotary_rows_cuda.h"

#include "on_cuda.h"
#include "rotary_rows_kernel.h"

namespace sheaf::nn {
namespace {

HeadStrides strides_of(const at::Tensor& x) { return {x.stride(0), x.stride(1), x.stride(2)}; }

HeadStrides strides_of_table(const at::Tensor& table) {
  return {.text = table.dim() == 4 ? table.stride(0) : 0, .position = table.stride(-2)};
}

bool fit(std::int64_t half, const HeadStrides& strides, const void* memory) {
  return fit_chunks(half, strides.text, memory) && strides.position % 8 == 0 &&
         strides.head % 8 == 0;
}

/// One set of strides serves both tables.
bool are_alike(const at::Tensor& cosines, const at::Tensor& sines) {
  return cosines.scalar_type() == at::kFloat && sines.scalar_type() == at::kFloat &&
         cosines.strides() == sines.strides() && cosines.stride(-1) == 1;
}

}  // namespace

bool rotate_on_cuda(const at::Tensor& from, const at::Tensor& to, const RotaryAngles& by) {
  const auto type = element_type(from.scalar_type());
  if (!type || from.numel() == 0 || from.stride(3) != 1 || to.stride(3) != 1 ||
      !are_alike(by.cosines, by.sines)) {
    return false;
  }
  const Launch launch(from);
  RotaryRows all{.type = *type,
                 .from = from.const_data_ptr(),
                 .from_strides = strides_of(from),
                 .to = to.mutable_data_ptr(),
                 .to_strides = strides_of(to),
                 .num_texts = from.size(0),
                 .length = from.size(1),
                 .num_heads = from.size(2),
                 .half = from.size(3) / 2,
                 .cosines = by.cosines.const_data_ptr<float>(),
                 .sines = by.sines.const_data_ptr<float>(),
                 .table_strides = strides_of_table(by.cosines),
                 .sign = static_cast<float>(by.sign)};
  all.in_chunks =
      fit(all.half, all.from_strides, all.from) && fit(all.half, all.to_strides, all.to) &&
      fit(all.half, all.table_strides, all.cosines) && fit(all.half, all.table_strides, all.sines);
  launch_rotate(all, launch.stream());
  return true;
}

}  // namespace sheaf::nn
