#pragma once

#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <optional>

#include "sheaf/data/loader.h"

namespace sheaf::data {

/// A batch on its way from page-locked memory to a GPU, on a stream of its own, so that it travels
/// while the kernels of the step before run.
class Upload {
 public:
  explicit Upload(at::Device device);
  ~Upload();
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  /// Starts the copies. They wait for what the current stream has been given so far, and for
  /// nothing that it is given later. Nothing may be on its way already.
  void start(Batch batch);
  [[nodiscard]] bool started() const { return moving_.has_value(); }
  /// Returns the batch that start() was given, with tensors of the GPU. The stream that was current
  /// in start() waits for the copies, the host does not.
  [[nodiscard]] Batch take();

 private:
  struct Moving {
    Batch batch;
    c10::Stream user;
    c10::Event done;
  };

  [[nodiscard]] at::Tensor copy(const at::Tensor& from, const at::Tensor& room) const;

  at::Device device_;
  c10::Stream stream_;
  std::optional<Moving> moving_;
};

}  // namespace sheaf::data
