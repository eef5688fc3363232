#pragma once

#include "data/token_source.h"

namespace sheaf::data {

/// Tokens that are computed from (seed, index): any number of them, and nothing is stored.
class RandomSource final : public TokenSource {
 public:
  RandomSource(std::int64_t size, std::int64_t vocabulary, std::uint64_t seed)
      : size_(size), vocabulary_(static_cast<std::uint64_t>(vocabulary)), seed_(seed) {}

  [[nodiscard]] std::int64_t size() const override { return size_; }
  void read(std::int64_t begin, std::int64_t count, std::int64_t* out) const override;

 private:
  std::int64_t size_;
  std::uint64_t vocabulary_;
  std::uint64_t seed_;
};

}  // namespace sheaf::data
