#pragma once

#include <memory>

namespace sheaf::comm {

struct Call;

/// A call on a Group that may still be running. The tensors it was given belong to it until wait()
/// has returned: before that, outputs must not be read and inputs must not be written.
class [[nodiscard]] Work {
 public:
  /// Makes a call that is already finished.
  Work() = default;
  explicit Work(std::shared_ptr<Call> call) : call_(std::move(call)) {}

  /// Blocks until the result is there; throws what went wrong. May be called again. On CUDA with
  /// NCCL it returns at once, and the result is there for later work on the stream that was current
  /// at the call.
  void wait();
  /// Tells whether wait() would return at once.
  [[nodiscard]] bool done() const;

 private:
  std::shared_ptr<Call> call_;
};

}  // namespace sheaf::comm
