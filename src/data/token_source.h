#pragma once

#include <cstdint>

namespace sheaf::data {

/// A long row of tokens that can be read anywhere, by many threads at once.
class TokenSource {
 public:
  virtual ~TokenSource() = default;

  [[nodiscard]] virtual std::int64_t size() const = 0;
  /// Writes tokens [begin, begin + count) to `out`; the caller asks only for what is there.
  virtual void read(std::int64_t begin, std::int64_t count, std::int64_t* out) const = 0;
};

}  // namespace sheaf::data
