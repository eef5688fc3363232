#pragma once

#include <cstdint>
#include <vector>

namespace sheaf::data {

/// A long row of tokens that can be read anywhere, by many threads at once.
class TokenSource {
 public:
  virtual ~TokenSource() = default;

  [[nodiscard]] virtual std::int64_t size() const = 0;
  /// Writes tokens [begin, begin + count) to `out`; the caller asks only for what is there.
  virtual void read(std::int64_t begin, std::int64_t count, std::int64_t* out) const = 0;
};

/// Says where the documents of a TokenSource begin, to many threads at once.
class DocumentIndex {
 public:
  virtual ~DocumentIndex() = default;

  /// Returns those of the tokens [begin, begin + count) that are the first of a document, in order.
  [[nodiscard]] virtual std::vector<std::int64_t> starts_in(std::int64_t begin,
                                                            std::int64_t count) const = 0;
};

}  // namespace sheaf::data
