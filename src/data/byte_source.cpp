#include "data/byte_source.h"

#include <algorithm>

namespace sheaf::data {

void ByteSource::read(std::int64_t begin, std::int64_t count, std::int64_t* out) const {
  const auto part = text_.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
  std::transform(
      part.begin(), part.end(), out, [](char c) { return static_cast<unsigned char>(c); });
}

}  // namespace sheaf::data
