#include "marks.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "sheaf/base/error.h"

namespace sheaf::comm::one_gpu {
namespace {

using Batch = CUresult (*)(CUstream, unsigned, CUstreamBatchMemOpParams*, unsigned);

/// The driver's function is asked for at run time: the driver is no library to link with where
/// there is none.
Batch find_batch() {
  constexpr unsigned kSinceCuda12 = 12000;
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  const cudaError_t error = cudaGetDriverEntryPointByVersion(
      "cuStreamBatchMemOp", &found, kSinceCuda12, cudaEnableDefault, &result);
  if (error != cudaSuccess || result != cudaDriverEntryPointSuccess) return nullptr;
  return reinterpret_cast<Batch>(found);
}

Batch batch() {
  static const Batch kFound = find_batch();
  return kFound;
}

}  // namespace

void check_marks() {
  if (batch() != nullptr) return;
  throw CommError("one_gpu needs a driver for CUDA 12 or later, whose streams can wait for words");
}

void Marks::issue(void* stream) const {
  if (marks_.empty()) return;
  std::vector<CUstreamBatchMemOpParams> operations(marks_.size());
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    const Mark& mark = marks_[i];
    if (mark.is_write) {
      operations[i].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
      operations[i].writeValue.address = mark.word;
      operations[i].writeValue.value = mark.value;
      operations[i].writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
    } else {
      operations[i].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
      operations[i].waitValue.address = mark.word;
      operations[i].waitValue.value = mark.value;
      operations[i].waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
    }
  }
  const CUresult result = batch()(static_cast<CUstream>(stream),
                                  static_cast<unsigned>(operations.size()),
                                  operations.data(),
                                  0);
  if (result == CUDA_SUCCESS) return;
  throw CommError(
      fmt::format("the stream takes no marks: the driver's error is {}", static_cast<int>(result)));
}

}  // namespace sheaf::comm::one_gpu
