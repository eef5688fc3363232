#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "sheaf/base/units.h"
#include "sheaf/data/dataset.h"
#include "sheaf/data/order.h"

namespace sheaf::data {

/// One rank's part of one global batch.
struct Batch {
  at::Tensor inputs;
  at::Tensor targets;
  /// See Rows.
  at::Tensor positions;
  /// The samples, in the order of the rows.
  std::vector<std::int64_t> samples;
  /// Number, within the global batch, of the first row's sample; the others follow it.
  std::int64_t first_sample = 0;
  /// Samples of the global batch: fewer than asked for at the end of an epoch that is not full.
  std::int64_t global_samples = 0;
  /// Where the global batch begins, and where the next one does.
  Position position;
  Position next;
};

struct LoaderOptions {
  int rank = 0;
  int ranks = 1;
  /// Samples of all ranks together per batch.
  std::int64_t global_batch = 1;
  /// Whether an epoch's last batch may be smaller; otherwise it is filled with the beginning of the
  /// next epoch, so that nothing is lost or doubled either way.
  bool partial_batches = false;
  std::uint64_t seed = 0;
  bool shuffle = true;
  /// Threads that make batches; 0: next() makes them.
  int workers = 1;
  /// Batches made ahead.
  int prefetch = 2;
  /// Where batches go; for CUDA through page-locked memory, without waiting.
  at::Device device = at::kCPU;
  /// For CUDA: the next batch is copied, on a stream of its own, while the caller computes with the
  /// last one; takes the memory of one batch more. Needs workers.
  bool copy_ahead = true;
  Position start = {};
};

/// Makes batches ahead on threads of its own. A rank may get a batch without rows; it still takes
/// part in the step.
class Loader {
 public:
  Loader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options);
  ~Loader();
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) = delete;

  /// Returns the next batch. Rethrows what a worker threw.
  [[nodiscard]] Batch next();
  /// Returns where the batch begins that next() will return.
  [[nodiscard]] Position position() const;
  /// Starts again at the beginning of an epoch.
  void set_epoch(std::int64_t epoch);
  /// Returns the time that next() has waited for batches so far.
  [[nodiscard]] Seconds waited() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sheaf::data
