#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace sheaf::data::bpe {

/// Tokens of short words that came before. A word takes the place of the one that was in its slot,
/// so the memory stays the same; for one thread.
class WordCache {
 public:
  static constexpr std::size_t kLongestWord = 31;
  static constexpr std::size_t kMostTokens = 7;

  /// A word as four numbers; its length is part of the last.
  struct Key {
    std::array<std::uint64_t, 4> words{};

    bool operator==(const Key&) const = default;
  };

  /// One cache line.
  struct alignas(64) Entry {
    Key key;
    std::uint32_t count = 0;
    std::array<std::uint32_t, kMostTokens> tokens{};
  };

  /// Returns the key of a word of 1 to kLongestWord bytes.
  [[nodiscard]] static Key key_of(std::string_view word) {
    Key key;
    const std::size_t whole = word.size() / 8;
    for (std::size_t i = 0; i < whole; ++i) key.words[i] = load<std::uint64_t>(word.data() + 8 * i);
    if (word.size() % 8 != 0) key.words[whole] = tail(word, word.size() % 8);
    key.words[3] |= std::uint64_t{word.size()} << 56;
    return key;
  }

  /// Returns the slot of a key; whoever finds another key there may put this one in its place.
  [[nodiscard]] Entry& slot(const Key& key) {
    std::uint64_t hash = (key.words[0] ^ key.words[1] * 0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd;
    hash ^= (key.words[2] ^ key.words[3]) * 0xc4ceb9fe1a85ec53;
    hash ^= hash >> 32;
    return entries_[(hash * 0x9e3779b97f4a7c15) >> (64 - kBits)];
  }

 private:
  static constexpr int kBits = 15;

  template <class Number>
  static Number load(const char* from) {
    Number value;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }

  /// Returns the last `size` (1 to 7) bytes of a word as a number, without reading beyond it.
  static std::uint64_t tail(std::string_view word, std::size_t size) {
    const char* end = word.data() + word.size();
    if (word.size() >= 8) return load<std::uint64_t>(end - 8) >> (8 * (8 - size));
    const char* begin = word.data();
    if (size >= 4) {
      return load<std::uint32_t>(begin) | std::uint64_t{load<std::uint32_t>(end - 4)}
                                              << (8 * (size - 4));
    }
    const auto byte = [begin](std::size_t i) {
      return std::uint64_t{static_cast<unsigned char>(begin[i])} << (8 * i);
    };
    return byte(0) | byte(size / 2) | byte(size - 1);
  }

  std::vector<Entry> entries_ = std::vector<Entry>(std::size_t{1} << kBits);
};
static_assert(sizeof(WordCache::Entry) == 64);

}  // namespace sheaf::data::bpe
