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

/// Memory of one type, seen as numbers to compute with.
template <Type kType>
struct Values {
  Stored<kType>* memory;

  explicit Values(void* from) : memory(static_cast<Stored<kType>*>(from)) {}
  [[gnu::always_inline]] Arithmetic<kType> operator[](std::int64_t i) const {
    return loaded<kType>(memory[i]);
  }
  [[gnu::always_inline]] void set(std::int64_t i, Arithmetic<kType> value) const {
    memory[i] = stored<kType>(value);
  }
};

template <Type kType>
struct ConstValues {
  const Stored<kType>* memory;

  explicit ConstValues(const void* from) : memory(static_cast<const Stored<kType>*>(from)) {}
  [[gnu::always_inline]] Arithmetic<kType> operator[](std::int64_t i) const {
    return loaded<kType>(memory[i]);
  }
};

template <class T>
[[gnu::always_inline]] inline T scale_of(const Elements& all) {
  return all.gradient_scale == nullptr ? T{1} : static_cast<T>(*all.gradient_scale);
}

template <class Of, class T>
[[gnu::always_inline]] inline void adam_loop(const Elements& all,
                                             const AdamFactors<T>& by,
                                             Part part) {
  const Values<Of::kMaster> master(all.master);
  const ConstValues<Of::kGradient> gradient(all.gradient);
  const Values<Of::kState> exp_avg(all.state1);
  const Values<Of::kState> exp_avg_sq(all.state2);
  const AdamFactors<T> factors = by;
  const T scale = scale_of<T>(all);
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    const auto x = adam<T>({master[i], gradient[i] * scale, exp_avg[i], exp_avg_sq[i]}, factors);
    master.set(i, x.master);
    exp_avg.set(i, x.exp_avg);
    exp_avg_sq.set(i, x.exp_avg_sq);
  }
}

template <class Of, class T>
[[gnu::always_inline]] inline void sgd_loop(const Elements& all,
                                            const SgdFactors<T>& by,
                                            Part part) {
  const Values<Of::kMaster> master(all.master);
  const ConstValues<Of::kGradient> gradient(all.gradient);
  const Values<Of::kState> buffer(all.state1);
  const SgdFactors<T> factors = by;
  const T scale = scale_of<T>(all);
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    const auto x = sgd<T>({master[i], gradient[i] * scale, buffer[i]}, factors);
    master.set(i, x.master);
    buffer.set(i, x.buffer);
  }
}

template <class Of, class T>
[[gnu::always_inline]] inline void plain_sgd_loop(const Elements& all,
                                                  const SgdFactors<T>& by,
                                                  Part part) {
  const Values<Of::kMaster> master(all.master);
  const ConstValues<Of::kGradient> gradient(all.gradient);
  const SgdFactors<T> factors = by;
  const T scale = scale_of<T>(all);
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    master.set(i, plain_sgd<T>(master[i], gradient[i] * scale, factors));
  }
}

template <Type kCopy, Type kMaster>
[[gnu::always_inline]] inline void copy_loop(const Elements& all, Part part) {
  const ConstValues<kMaster> master(all.master);
  auto* copy = static_cast<Stored<kCopy>*>(all.copy);
  for (std::int64_t i = part.begin; i < part.end; ++i) copy[i] = stored<kCopy>(master[i]);
}

template <Type kMaster>
[[gnu::always_inline]] inline void write_copy(const Elements& all, Part part) {
  switch (all.copy_type) {
    case Type::none:
      return;
    case Type::fp32:
      return copy_loop<Type::fp32, kMaster>(all, part);
    case Type::fp64:
      return copy_loop<Type::fp64, kMaster>(all, part);
    case Type::fp16:
      return copy_loop<Type::fp16, kMaster>(all, part);
    case Type::bf16:
      return copy_loop<Type::bf16, kMaster>(all, part);
  }
}

/// Adam, as the functions below take it.
struct AdamBlocks {
  template <class Of>
  [[gnu::always_inline]] static void run(const Elements& all,
                                         const AdamFactors<double>& by,
                                         Part part) {
    using T = Arithmetic<Of::kMaster>;
    const auto factors = by.to<T>();
    for (std::int64_t begin = part.begin; begin < part.end; begin += kBlock) {
      const Part block{begin, std::min(begin + kBlock, part.end)};
      adam_loop<Of, T>(all, factors, block);
      write_copy<Of::kMaster>(all, block);
    }
  }
};

struct SgdBlocks {
  template <class Of>
  [[gnu::always_inline]] static void run(const Elements& all,
                                         const SgdFactors<double>& by,
                                         Part part) {
    using T = Arithmetic<Of::kMaster>;
    const auto factors = by.to<T>();
    for (std::int64_t begin = part.begin; begin < part.end; begin += kBlock) {
      const Part block{begin, std::min(begin + kBlock, part.end)};
      if (all.state1 == nullptr) {
        plain_sgd_loop<Of, T>(all, factors, block);
      } else {
        sgd_loop<Of, T>(all, factors, block);
      }
      write_copy<Of::kMaster>(all, block);
    }
  }
};

// Types become constants one after the other; without lambdas, which would be compiled for the
// plainest processor.

template <class Blocks, Type kMaster, Type kGradient, class Factors>
[[gnu::always_inline]] inline void with_states(const Elements& all, const Factors& by, Part part) {
  if (state_type_of(all) == Type::bf16) {
    Blocks::template run<Types<kMaster, kGradient, Type::bf16>>(all, by, part);
  } else {
    Blocks::template run<Types<kMaster, kGradient, Type::fp32>>(all, by, part);
  }
}

template <class Blocks, Type kMaster, class Factors>
[[gnu::always_inline]] inline void with_gradients(const Elements& all,
                                                  const Factors& by,
                                                  Part part) {
  if (gradient_type_of(all) == Type::bf16) {
    with_states<Blocks, kMaster, Type::bf16>(all, by, part);
  } else {
    with_states<Blocks, kMaster, Type::fp32>(all, by, part);
  }
}

template <class Blocks, class Factors>
[[gnu::always_inline]] inline void with_types(const Elements& all, const Factors& by, Part part) {
  if (all.type == Type::fp32) return with_gradients<Blocks, Type::fp32>(all, by, part);
  if (all.type == Type::bf16) return with_gradients<Blocks, Type::bf16>(all, by, part);
  Blocks::template run<Types<Type::fp64, Type::fp64, Type::fp64>>(all, by, part);
}

[[gnu::always_inline]] inline void adam_part(const Elements& all,
                                             const AdamFactors<double>& by,
                                             Part part) {
  with_types<AdamBlocks>(all, by, part);
}

[[gnu::always_inline]] inline void sgd_part(const Elements& all,
                                            const SgdFactors<double>& by,
                                            Part part) {
  with_types<SgdBlocks>(all, by, part);
}

}  // namespace sheaf::optim
