#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <cmath>

#include "captured.h"
#include "device_stamp.h"

namespace sheaf::comm {
namespace {

/// An event that a node of the graph records.
class ReplayedStamp final : public Stamp {
 public:
  explicit ReplayedStamp(cudaStream_t stream) {
    C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDefault));
    C10_CUDA_CHECK(cudaEventRecordWithFlags(event_, stream, cudaEventRecordExternal));
  }
  ~ReplayedStamp() override { C10_CUDA_CHECK_WARN(cudaEventDestroy(event_)); }
  ReplayedStamp(const ReplayedStamp&) = delete;
  ReplayedStamp& operator=(const ReplayedStamp&) = delete;

  [[nodiscard]] bool reached() const override {
    const cudaError_t state = cudaEventQuery(event_);
    if (state == cudaSuccess) return true;
    if (state != cudaErrorNotReady) C10_CUDA_CHECK(state);
    static_cast<void>(cudaGetLastError());
    return false;
  }

  [[nodiscard]] std::int64_t since(const Stamp& earlier) const override {
    constexpr double kNanosecondsPerMillisecond = 1e6;
    float ms = 0;
    C10_CUDA_CHECK(cudaEventElapsedTime(&ms, static_cast<cudaEvent_t>(event_of(earlier)), event_));
    return std::llround(ms * kNanosecondsPerMillisecond);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace

bool is_captured(const c10::Stream& stream) {
  if (stream.device_type() != c10::DeviceType::CUDA) return false;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  C10_CUDA_CHECK(cudaStreamIsCapturing(c10::cuda::CUDAStream(stream).stream(), &status));
  return status == cudaStreamCaptureStatusActive;
}

std::shared_ptr<const Stamp> replayed_stamp(const c10::Stream& stream) {
  return std::make_shared<ReplayedStamp>(c10::cuda::CUDAStream(stream).stream());
}

}  // namespace sheaf::comm
