#include "data/random_source.h"

#include "data/mix.h"

namespace sheaf::data {

void RandomSource::read(std::int64_t begin, std::int64_t count, std::int64_t* out) const {
  const auto first = static_cast<std::uint64_t>(begin);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t random = mix(seed_, first + static_cast<std::uint64_t>(i));
    out[i] = static_cast<std::int64_t>(below(vocabulary_, random));
  }
}

}  // namespace sheaf::data
