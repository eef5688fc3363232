#include "elements.h"

#include <algorithm>

namespace sheaf::comm::one_gpu {
namespace {

constexpr std::int64_t kAlignment = 256;

}  // namespace

Element element_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kDouble:
      return Element::fp64;
    case at::kHalf:
      return Element::fp16;
    case at::kBFloat16:
      return Element::bf16;
    case at::kChar:
      return Element::int8;
    case at::kByte:
      return Element::uint8;
    case at::kInt:
      return Element::int32;
    case at::kLong:
      return Element::int64;
    default:
      return Element::fp32;
  }
}

FoldRule rule_of(Reduce how, int num_ranks) {
  switch (how.reduction) {
    case Reduction::max:
      return {.fold = Fold::max};
    case Reduction::min:
      return {.fold = Fold::min};
    case Reduction::average:
      return {.divisor = static_cast<double>(num_ranks)};
    case Reduction::sum:
      break;
  }
  return {.scale = how.scale};
}

Share share_of(std::int64_t count, int num_ranks, int rank) {
  const std::int64_t even = (count + num_ranks - 1) / num_ranks;
  const std::int64_t share = (even + kAlignment - 1) / kAlignment * kAlignment;
  const std::int64_t begin = std::min(count, rank * share);
  return {begin, std::min(share, count - begin)};
}

std::int64_t aligned_part(std::int64_t bytes, int num_ranks) {
  return bytes / num_ranks / kAlignment * kAlignment;
}

}  // namespace sheaf::comm::one_gpu
