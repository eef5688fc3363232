#pragma once

#include "loops.h"

// The loops that look at whole rows or draw random numbers; see loops.h.

namespace sheaf::nn {

constexpr std::int64_t kLanes = 16;
// A sum is taken in fp32 within a block and in fp64 over the blocks.
constexpr std::int64_t kSumBlock = 512;

[[gnu::always_inline]] inline float largest_of(const float* x, std::int64_t size) {
  using Lanes [[gnu::vector_size(kLanes * sizeof(float))]] = float;
  float result = -std::numeric_limits<float>::infinity();
  std::int64_t i = 0;
  if (size >= kLanes) {
    Lanes largest, next;
    std::memcpy(&largest, x, sizeof(Lanes));
    for (i = kLanes; i + kLanes <= size; i += kLanes) {
      std::memcpy(&next, x + i, sizeof(Lanes));
      largest = largest < next ? next : largest;
    }
    for (std::int64_t lane = 0; lane < kLanes; ++lane) result = std::max(result, largest[lane]);
  }
  for (; i < size; ++i) result = std::max(result, x[i]);
  return result;
}

[[gnu::always_inline]] inline float sum_of(const float* x, std::int64_t size) {
  using Lanes [[gnu::vector_size(kLanes * sizeof(float))]] = float;
  Lanes sums = {}, next;
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    std::memcpy(&next, x + i, sizeof(Lanes));
    sums += next;
  }
  float result = 0;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) result += sums[lane];
  for (; i < size; ++i) result += x[i];
  return result;
}

/// Replaces `x` by e^(x - largest) and returns the sum.
[[gnu::always_inline]] inline double exponentials(float* x, std::int64_t size, float largest) {
  double sum = 0;
  for (std::int64_t begin = 0; begin < size; begin += kSumBlock) {
    const std::int64_t length = std::min(kSumBlock, size - begin);
    float* block = x + begin;
    for (std::int64_t i = 0; i < length; ++i) block[i] = exponential(block[i] - largest);
    sum += sum_of(block, length);
  }
  return sum;
}

[[gnu::always_inline]] inline void scale_row(float* x, std::int64_t size, float factor) {
  for (std::int64_t i = 0; i < size; ++i) x[i] *= factor;
}

[[gnu::always_inline]] inline void cross_entropy_rows(const CrossEntropyRows& all, Part rows) {
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    float* logits = all.logits + row * all.vocabulary;
    const std::int64_t target = all.targets[row];
    if (target == all.ignored) {
      all.losses[row] = 0;
      if (all.with_gradients) std::memset(logits, 0, sizeof(float) * all.vocabulary);
      continue;
    }
    const double wanted = logits[target];
    const float largest = largest_of(logits, all.vocabulary);
    const double sum = exponentials(logits, all.vocabulary, largest);
    all.losses[row] = std::log(sum) + (largest - wanted);
    if (!all.with_gradients) continue;
    scale_row(logits, all.vocabulary, static_cast<float>(1 / sum));
    logits[target] -= 1.0F;
  }
}

/// Drops up to kGroup elements; `words` are theirs.
template <class T>
[[gnu::always_inline]] inline void drop_group(const T* input,
                                              T* output,
                                              const std::uint32_t* words,
                                              const DropRule& rule,
                                              std::int64_t size) {
  const T scale = static_cast<T>(rule.scale);
  const std::uint32_t threshold = rule.threshold;
  for (std::int64_t i = 0; i < size; ++i) {
    output[i] = words[i] < threshold ? T{0} : input[i] * scale;
  }
}

template <class T>
[[gnu::always_inline]] inline void drop_groups(const DropElements& all,
                                               const DropRule& rule,
                                               Part groups) {
  const std::int64_t per_sample = all.groups_per_sample();
  for (std::int64_t i = groups.begin; i < groups.end; ++i) {
    const std::int64_t sample = i / per_sample, group = i % per_sample;
    std::uint32_t words[kGroup];
    for (std::int64_t lane = 0; lane < kBlocksPerGroup; ++lane) {
      const Words drawn =
          words_of_block(rule, all.first_sample + sample, group * kBlocksPerGroup + lane);
      for (int word = 0; word < 4; ++word) words[word * kBlocksPerGroup + lane] = drawn.word[word];
    }
    const std::int64_t offset = sample * all.sample_size + group * kGroup;
    const std::int64_t size = std::min(kGroup, all.sample_size - group * kGroup);
    drop_group(static_cast<const T*>(all.input) + offset,
               static_cast<T*>(all.output) + offset,
               words,
               rule,
               size);
  }
}

[[gnu::always_inline]] inline void drop_part(const DropElements& all,
                                             const DropRule& rule,
                                             Part groups) {
  if (all.is_double) return drop_groups<double>(all, rule, groups);
  drop_groups<float>(all, rule, groups);
}

}  // namespace sheaf::nn
