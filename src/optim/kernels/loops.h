#pragma once

#include <algorithm>
#include <cstdint>

#include "arithmetic.h"
#include "cpu.h"

// The loops of the CPU kernels, which the caller compiles for one processor or another: everything
// here is always inlined. Compilers vectorise the innermost loops as they stand.

namespace sheaf::optim {

// Elements between two writes of the copy: few enough that it reads the master from the cache.
constexpr std::int64_t kBlock = 4096;

template <class T>
[[gnu::always_inline]] inline void adam_loop(const Elements& all,
                                             const AdamFactors<T>& by,
                                             Part part) {
  T* master = static_cast<T*>(all.master);
  const T* gradient = static_cast<const T*>(all.gradient);
  T* exp_avg = static_cast<T*>(all.state1);
  T* exp_avg_sq = static_cast<T*>(all.state2);
  const AdamFactors<T> factors = by;
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    const auto x = adam<T>({master[i], gradient[i], exp_avg[i], exp_avg_sq[i]}, factors);
    master[i] = x.master;
    exp_avg[i] = x.exp_avg;
    exp_avg_sq[i] = x.exp_avg_sq;
  }
}

template <class T>
[[gnu::always_inline]] inline void sgd_loop(const Elements& all,
                                            const SgdFactors<T>& by,
                                            Part part) {
  T* master = static_cast<T*>(all.master);
  const T* gradient = static_cast<const T*>(all.gradient);
  T* buffer = static_cast<T*>(all.state1);
  const SgdFactors<T> factors = by;
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    const auto x = sgd<T>({master[i], gradient[i], buffer[i]}, factors);
    master[i] = x.master;
    buffer[i] = x.buffer;
  }
}

template <class T>
[[gnu::always_inline]] inline void plain_sgd_loop(const Elements& all,
                                                  const SgdFactors<T>& by,
                                                  Part part) {
  T* master = static_cast<T*>(all.master);
  const T* gradient = static_cast<const T*>(all.gradient);
  const SgdFactors<T> factors = by;
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    master[i] = plain_sgd(master[i], gradient[i], factors);
  }
}

template <Type kType, class T>
[[gnu::always_inline]] inline void copy_loop(const Elements& all, Part part) {
  const T* master = static_cast<const T*>(all.master);
  auto* copy = static_cast<Stored<kType>*>(all.copy);
  for (std::int64_t i = part.begin; i < part.end; ++i) copy[i] = stored<kType>(master[i]);
}

template <class T>
[[gnu::always_inline]] inline void write_copy(const Elements& all, Part part) {
  switch (all.copy_type) {
    case Type::none:
      return;
    case Type::fp32:
      return copy_loop<Type::fp32, T>(all, part);
    case Type::fp64:
      return copy_loop<Type::fp64, T>(all, part);
    case Type::fp16:
      return copy_loop<Type::fp16, T>(all, part);
    case Type::bf16:
      return copy_loop<Type::bf16, T>(all, part);
  }
}

template <class T>
[[gnu::always_inline]] inline void adam_blocks(const Elements& all,
                                               const AdamFactors<double>& by,
                                               Part part) {
  const auto factors = by.to<T>();
  for (std::int64_t begin = part.begin; begin < part.end; begin += kBlock) {
    const Part block{begin, std::min(begin + kBlock, part.end)};
    adam_loop<T>(all, factors, block);
    write_copy<T>(all, block);
  }
}

template <class T>
[[gnu::always_inline]] inline void sgd_blocks(const Elements& all,
                                              const SgdFactors<double>& by,
                                              Part part) {
  const auto factors = by.to<T>();
  for (std::int64_t begin = part.begin; begin < part.end; begin += kBlock) {
    const Part block{begin, std::min(begin + kBlock, part.end)};
    if (all.state1 == nullptr) {
      plain_sgd_loop<T>(all, factors, block);
    } else {
      sgd_loop<T>(all, factors, block);
    }
    write_copy<T>(all, block);
  }
}

[[gnu::always_inline]] inline void adam_part(const Elements& all,
                                             const AdamFactors<double>& by,
                                             Part part) {
  if (all.type == Type::fp32) return adam_blocks<float>(all, by, part);
  adam_blocks<double>(all, by, part);
}

[[gnu::always_inline]] inline void sgd_part(const Elements& all,
                                            const SgdFactors<double>& by,
                                            Part part) {
  if (all.type == Type::fp32) return sgd_blocks<float>(all, by, part);
  sgd_blocks<double>(all, by, part);
}

}  // namespace sheaf::optim
