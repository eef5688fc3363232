#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sheaf/base/units.h"

namespace sheaf::comm {

enum class Kind {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  all_to_all,
  send,
  recv,
  barrier,
};
inline constexpr std::size_t kNumKinds = 8;

/// What a call moves data for.
enum class Purpose { other, parameters, gradients, optimizer, activations, buffers, loss, control };
inline constexpr std::size_t kNumPurposes = 8;

[[nodiscard]] std::string_view name(Kind kind);
[[nodiscard]] std::string_view name(Purpose purpose);

struct Tally {
  std::int64_t calls = 0;
  /// Size of the whole tensor that the ranks exchange: the tensor of an all-reduce, the output of
  /// an all-gather, the input of a reduce-scatter.
  Bytes bytes;
  /// Time callers spent inside Work::wait().
  Seconds waiting{0};

  Tally& operator+=(const Tally& other);
  Tally& operator-=(const Tally& other);
};

/// What a group has done since it was made, by kind and purpose. A plain value: take one before and
/// one after a step, and subtract.
class Traffic {
 public:
  [[nodiscard]] const Tally& of(Kind kind, Purpose purpose) const;
  [[nodiscard]] Tally of(Kind kind) const;
  [[nodiscard]] Tally of(Purpose purpose) const;
  [[nodiscard]] Tally total() const;

  Tally& at(Kind kind, Purpose purpose);
  [[nodiscard]] Traffic operator-(const Traffic& earlier) const;

 private:
  std::array<Tally, kNumKinds * kNumPurposes> tallies_;
};

}  // namespace sheaf::comm
