#include "reduce_kernel.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <vector>

#include "sheaf/base/error.h"

namespace sheaf::comm {
namespace {

// Elements that are reduced at a time: sums and one output block stay in the first-level cache.
constexpr std::int64_t kBlock = 1024;

template <class T>
using Sum =
    std::conditional_t<std::is_same_v<T, c10::Half> || std::is_same_v<T, c10::BFloat16>, float, T>;

/// Folds one or two inputs into the sums at a time: two, because the sums then pass through the
/// cache half as often. The order of additions is that of the inputs either way.
template <class T, class Op>
void fold(Sum<T>* __restrict sums, const T* __restrict a, std::int64_t count, Op op) {
  for (std::int64_t i = 0; i < count; ++i) sums[i] = op(sums[i], static_cast<Sum<T>>(a[i]));
}

template <class T, class Op>
void fold(Sum<T>* __restrict sums,
          const T* __restrict a,
          const T* __restrict b,
          std::int64_t count,
          Op op) {
  for (std::int64_t i = 0; i < count; ++i) {
    sums[i] = op(op(sums[i], static_cast<Sum<T>>(a[i])), static_cast<Sum<T>>(b[i]));
  }
}

/// Reduces one block of all inputs into `sums`; `start` maps the first input, `op` adds another.
template <class T, class Start, class Op>
void fold_all(
    Sum<T>* sums, std::span<const T* const> inputs, std::int64_t count, Start start, Op op) {
  fold(sums, inputs[0], count, [start](Sum<T>, Sum<T> x) { return start(x); });
  std::size_t next = 1;
  for (; next + 1 < inputs.size(); next += 2) fold(sums, inputs[next], inputs[next + 1], count, op);
  if (next < inputs.size()) fold(sums, inputs[next], count, op);
}

template <class T>
void reduce_block(Sum<T>* sums, std::span<const T* const> inputs, std::int64_t count, Reduce how) {
  using S = Sum<T>;
  const auto same = [](S x) { return x; };
  const auto scale = static_cast<S>(how.scale);
  switch (how.reduction) {
    // A value that is not a number wins, so that it cannot get lost.
    case Reduction::max:
      return fold_all<T>(
          sums, inputs, count, same, [](S a, S b) { return a > b || a != a ? a : b; });
    case Reduction::min:
      return fold_all<T>(
          sums, inputs, count, same, [](S a, S b) { return a < b || a != a ? a : b; });
    default:
      break;
  }
  if (how.scale != 1.0) {
    return fold_all<T>(
        sums,
        inputs,
        count,
        [scale](S x) { return static_cast<S>(x * scale); },
        [scale](S a, S b) { return static_cast<S>(a + b * scale); });
  }
  fold_all<T>(sums, inputs, count, same, [](S a, S b) { return static_cast<S>(a + b); });
  if (how.reduction == Reduction::average) {
    const auto divisor = static_cast<S>(inputs.size());
    for (std::int64_t i = 0; i < count; ++i) sums[i] /= divisor;
  }
}

template <class T>
void reduce_typed(std::span<std::byte* const> outputs,
                  std::span<const std::byte* const> inputs,
                  std::int64_t count,
                  Reduce how) {
  std::array<Sum<T>, kBlock> sums;
  std::array<T, kBlock> narrowed;
  std::vector<const T*> blocks(inputs.size());
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t block = std::min(kBlock, count - begin);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      blocks[i] = reinterpret_cast<const T*>(inputs[i]) + begin;
    reduce_block<T>(sums.data(), blocks, block, how);
    const void* result = sums.data();
    if constexpr (!std::is_same_v<T, Sum<T>>) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(block); ++i)
        narrowed[i] = static_cast<T>(sums[i]);
      result = narrowed.data();
    }
    for (std::byte* output : outputs) {
      std::memcpy(reinterpret_cast<T*>(output) + begin,
                  result,
                  static_cast<std::size_t>(block) * sizeof(T));
    }
  }
}

using Kernel = void (*)(std::span<std::byte* const>,
                        std::span<const std::byte* const>,
                        std::int64_t,
                        Reduce);

Kernel kernel_for(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::ScalarType::Float:
      return reduce_typed<float>;
    case c10::ScalarType::Double:
      return reduce_typed<double>;
    case c10::ScalarType::Half:
      return reduce_typed<c10::Half>;
    case c10::ScalarType::BFloat16:
      return reduce_typed<c10::BFloat16>;
    case c10::ScalarType::Char:
      return reduce_typed<std::int8_t>;
    case c10::ScalarType::Byte:
      return reduce_typed<std::uint8_t>;
    case c10::ScalarType::Int:
      return reduce_typed<std::int32_t>;
    case c10::ScalarType::Long:
      return reduce_typed<std::int64_t>;
    default:
      return nullptr;
  }
}

}  // namespace

bool is_reducible(c10::ScalarType dtype) { return kernel_for(dtype) != nullptr; }

void check_reducible(c10::ScalarType dtype) {
  if (!is_reducible(dtype)) {
    throw UsageError(
        fmt::format("reductions take float, double, half, bfloat16, int8, uint8, int32 and int64 "
                    "tensors, got {}",
                    c10::toString(dtype)));
  }
}

void reduce(std::span<std::byte* const> outputs,
            std::span<const std::byte* const> inputs,
            std::int64_t count,
            c10::ScalarType dtype,
            Reduce how) {
  // A rank that is alone has its result already.
  const bool is_done = inputs.size() == 1 && outputs.size() == 1 && outputs[0] == inputs[0];
  if (is_done && how.scale == 1.0) return;
  kernel_for(dtype)(outputs, inputs, count, how);
}

}  // namespace sheaf::comm
