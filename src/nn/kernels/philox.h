#pragma once

#include <cstdint>

// Free of torch: nvcc reads this too.

// Note [Random numbers by place]
// Philox-4x32-10 turns a counter and a key into four words that look random. The key comes from the
// seed and the layer, the counter from the step, the sample and a block of places in the sample; so
// each place's word can be made anywhere, in any order, and again in backward. Places are taken in
// groups of 64: the 16 blocks of a group give their first words to its first 16 places, and so on,
// which lets the words of neighbours lie side by side in a vector.

namespace sheaf::nn {

inline constexpr std::int64_t kGroup = 64;
inline constexpr std::int64_t kBlocksPerGroup = 16;

struct PhiloxKey {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
};

struct Words {
  std::uint32_t word[4];
};

constexpr std::uint64_t scrambled(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9U;
  x = (x ^ x >> 27) * 0x94D049BB133111EBU;
  return x ^ x >> 31;
}

constexpr PhiloxKey philox_key(std::uint64_t seed, std::uint64_t layer) {
  const std::uint64_t key = scrambled(seed + scrambled(layer));
  return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
}

/// Returns the four words that belong to `counter`.
constexpr Words philox(Words counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53U} * counter.word[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57U} * counter.word[2];
    counter = {{static_cast<std::uint32_t>(second >> 32) ^ counter.word[1] ^ key.low,
                static_cast<std::uint32_t>(second),
                static_cast<std::uint32_t>(first >> 32) ^ counter.word[3] ^ key.high,
                static_cast<std::uint32_t>(first)}};
    key.low += 0x9E3779B9U;
    key.high += 0xBB67AE85U;
  }
  return counter;
}

/// Where a pass draws and what it drops. Steps, and samples of a step, count up to 2^32.
struct DropRule {
  PhiloxKey key;
  std::uint32_t step = 0;
  /// Words below it drop their element.
  std::uint32_t threshold = 0;
  /// What the others are multiplied by.
  double scale = 1;
};

constexpr Words words_of_block(const DropRule& rule, std::int64_t sample, std::int64_t block) {
  return philox({{static_cast<std::uint32_t>(block),
                  static_cast<std::uint32_t>(block >> 32),
                  static_cast<std::uint32_t>(sample),
                  rule.step}},
                rule.key);
}

}  // namespace sheaf::nn
