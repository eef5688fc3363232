#include "data/packed_text.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
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

PackedText::PackedText(DocumentTokens tokens, TokenRange range, std::int64_t context)
    : tokens_(std::move(tokens)),
      range_(range),
      context_(context),
      size_((range.count - 1) / context) {
  TORCH_INTERNAL_ASSERT(size_ > 0);
}

Rows PackedText::make_batch(std::int64_t count) const {
  const auto make = [&] { return at::empty({count, context_}, at::kLong); };
  return {
      .inputs = make(), .targets = make(), .positions = tokens_.documents ? make() : at::Tensor()};
}

void PackedText::fill(std::int64_t index, std::int64_t row, const Rows& rows) const {
  TORCH_INTERNAL_ASSERT(index >= 0 && index < size_ && row >= 0 && row < rows.inputs.size(0));
  const auto row_of = [&](const at::Tensor& all) {
    return all.mutable_data_ptr<std::int64_t>() + row * context_;
  };
  auto* input = row_of(rows.inputs);
  auto* target = row_of(rows.targets);
  const std::int64_t begin = range_.begin + index * context_;
  tokens_.source->read(begin, context_, input);
  std::copy(input + 1, input + context_, target);
  tokens_.source->read(begin + context_, 1, target + context_ - 1);
  if (tokens_.documents) cut(begin, row_of(rows.positions), target);
}

void PackedText::cut(std::int64_t begin, std::int64_t* positions, std::int64_t* targets) const {
  std::int64_t first = 0;
  for (const std::int64_t start : tokens_.documents->starts_in(begin + 1, context_)) {
    const std::int64_t end = start - begin;
    targets[end - 1] = kIgnoredTarget;
    std::iota(positions + first, positions + end, std::int64_t{0});
    first = end;
  }
  std::iota(positions + first, positions + context_, std::int64_t{0});
}

}  // namespace sheaf::data
