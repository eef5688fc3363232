#pragma once

#include <cstddef>
#include <cstdint>

// No header of LibTorch here: nvcc reads this one.

namespace sheaf::comm::one_gpu {

/// More ranks on one GPU than this make no sense, and pointers travel as kernel arguments.
inline constexpr int kMaxRanks = 32;

struct Copy {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::int64_t bytes = 0;
};

/// Copies that one kernel makes.
struct Copies {
  int count = 0;
  Copy of[kMaxRanks];

  void add(const Copy& copy) {
    if (copy.bytes > 0 && copy.from != copy.to) of[count++] = copy;
  }
};

enum class Element { fp32, fp64, fp16, bf16, int8, uint8, int32, int64 };

enum class Fold { sum, max, min };

/// Values are multiplied by `scale` before they are added up, the sum is divided by `divisor`.
struct FoldRule {
  Fold fold = Fold::sum;
  double scale = 1;
  double divisor = 1;
};

/// One run of elements per rank, in rank order: the order in which they are added.
struct Inputs {
  int count = 0;
  const std::byte* of[kMaxRanks];
};

struct Reduced {
  std::byte* output = nullptr;
  std::int64_t count = 0;
  Element element = Element::fp32;
};

/// Queue a kernel on `stream` (a cudaStream_t). The output may be one of the inputs. Sums of half
/// types are taken in fp32 and rounded once. Throw Error when the kernel cannot start.
void launch_copies(const Copies& copies, void* stream);
void launch_reduce(const Reduced& reduced,
                   const Inputs& inputs,
                   const FoldRule& rule,
                   void* stream);

}  // namespace sheaf::comm::one_gpu
