#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "cuda.h"
#include "sheaf/base/error.h"
#include "step_kernel.cuh"

namespace sheaf::optim {

inline void check_launch(const char* what) {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return;
  throw Error(std::string("the kernel of ") + what +
              " did not start: " + cudaGetErrorString(error));
}

template <Type kType>
struct CopyType {
  static constexpr Type kValue = kType;
};

/// Calls `body` with the type of the copy as a constant.
template <class Body>
void with_copy_type(Type type, Body body) {
  switch (type) {
    case Type::none:
      return body(CopyType<Type::none>());
    case Type::fp32:
      return body(CopyType<Type::fp32>());
    case Type::fp64:
      return body(CopyType<Type::fp64>());
    case Type::fp16:
      return body(CopyType<Type::fp16>());
    case Type::bf16:
      return body(CopyType<Type::bf16>());
  }
}

template <class Algorithm, class Of, Type kCopy, template <class> class Factors>
void launch_step(std::span<const CudaRun<Factors<double>>> runs, cudaStream_t stream) {
  using T = Arithmetic<Of::kMaster>;
  constexpr std::int64_t kPacks = kThreadsPerBlock * kPacksPerThread;
  Pieces<Factors<T>> pieces{};
  std::int64_t blocks = 0;
  for (const auto& run : runs) {
    const Cut cut = cut_of<Of, kPackWidth<Of>>(run.all, sizeof(Stored<kCopy>));
    pieces.each[pieces.count++] = {
        run.all, cut, {run.given.template to<T>(), run.kept}, blocks};
    blocks += std::max<std::int64_t>((cut.num_packs + kPacks - 1) / kPacks, 1);
  }
  step_kernel<Algorithm, Of, kCopy>
      <<<static_cast<unsigned>(blocks), kThreadsPerBlock, 0, stream>>>(pieces);
}

/// A bf16 master is what the model computes with, so it has no copy.
template <class Algorithm, class Of, template <class> class Factors>
void launch_with_copy(std::span<const CudaRun<Factors<double>>> runs, cudaStream_t stream) {
  if constexpr (Of::kMaster == Type::bf16) {
    launch_step<Algorithm, Of, Type::none, Factors>(runs, stream);
  } else {
    with_copy_type(runs.front().all.copy_type, [&](auto copy) {
      launch_step<Algorithm, Of, decltype(copy)::kValue, Factors>(runs, stream);
    });
  }
}

template <class Algorithm, Type kMaster, Type kGradient, template <class> class Factors>
void launch_with_states(std::span<const CudaRun<Factors<double>>> runs, cudaStream_t stream) {
  if (Algorithm::kNumStates > 0 && state_type_of(runs.front().all) == Type::bf16) {
    launch_with_copy<Algorithm, Types<kMaster, kGradient, Type::bf16>, Factors>(runs, stream);
  } else {
    launch_with_copy<Algorithm, Types<kMaster, kGradient, Type::fp32>, Factors>(runs, stream);
  }
}

template <class Algorithm, Type kMaster, template <class> class Factors>
void launch_with_gradient(std::span<const CudaRun<Factors<double>>> runs, cudaStream_t stream) {
  if (gradient_type_of(runs.front().all) == Type::bf16) {
    launch_with_states<Algorithm, kMaster, Type::bf16, Factors>(runs, stream);
  } else {
    launch_with_states<Algorithm, kMaster, Type::fp32, Factors>(runs, stream);
  }
}

template <class Algorithm, template <class> class Factors>
void launch_with_master(std::span<const CudaRun<Factors<double>>> runs, cudaStream_t stream) {
  const Type master = runs.front().all.type;
  if (master == Type::fp64) {
    launch_with_copy<Algorithm, Types<Type::fp64, Type::fp64, Type::fp64>, Factors>(runs, stream);
  } else if (master == Type::bf16) {
    launch_with_gradient<Algorithm, Type::bf16, Factors>(runs, stream);
  } else {
    launch_with_gradient<Algorithm, Type::fp32, Factors>(runs, stream);
  }
}

/// Starts the kernel of an algorithm for the types that the runs have in common.
template <class Algorithm, template <class> class Factors>
void launch(std::span<const CudaRun<Factors<double>>> runs, void* stream) {
  while (!runs.empty()) {
    const auto now = runs.first(std::min<std::size_t>(runs.size(), kMostPieces));
    launch_with_master<Algorithm, Factors>(now, static_cast<cudaStream_t>(stream));
    runs = runs.subspan(now.size());
  }
}

}  // namespace sheaf::optim
