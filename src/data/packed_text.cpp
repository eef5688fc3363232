#include "data/packed_text.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sheaf/base/error.h"

namespace sheaf::data {

TokenSplit split_tokens(std::int64_t tokens, double part, std::int64_t context) {
  const std::int64_t shortest = context + 1;
  std::int64_t kept = 0;
  if (part > 0) {
    kept = std::max<std::int64_t>(std::llround(static_cast<double>(tokens) * part), shortest);
  }
  if (tokens - kept < shortest) {
    throw UsageError(
        part > 0
            ? fmt::format("{} tokens are too few for training and evaluation with {} tokens per "
                          "sample: take more, a shorter context, or data.evaluation_part = 0",
                          tokens,
                          shortest)
            : fmt::format("{} tokens are too few for one sample of {} tokens: take more or a "
                          "shorter context",
                          tokens,
                          shortest));
  }
  return {.training = {0, tokens - kept}, .evaluation = {tokens - kept, kept}};
}

PackedText::PackedText(std::shared_ptr<const TokenSource> source,
                       TokenRange range,
                       std::int64_t context)
    : source_(std::move(source)),
      range_(range),
      context_(context),
      size_((range.count - 1) / context) {
  TORCH_INTERNAL_ASSERT(size_ > 0);
}

std::pair<at::Tensor, at::Tensor> PackedText::make_batch(std::int64_t count) const {
  return {at::empty({count, context_}, at::kLong), at::empty({count, context_}, at::kLong)};
}

void PackedText::fill(std::int64_t index,
                      std::int64_t row,
                      const at::Tensor& inputs,
                      const at::Tensor& targets) const {
  TORCH_INTERNAL_ASSERT(index >= 0 && index < size_ && row >= 0 && row < inputs.size(0));
  auto* input = inputs.mutable_data_ptr<std::int64_t>() + row * context_;
  auto* target = targets.mutable_data_ptr<std::int64_t>() + row * context_;
  const std::int64_t begin = range_.begin + index * context_;
  source_->read(begin, context_, input);
  std::copy(input + 1, input + context_, target);
  source_->read(begin + context_, 1, target + context_ - 1);
}

}  // namespace sheaf::data
