#include "sheaf/data/loader.h"

#include <ATen/ops/empty_like.h>
#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <utility>

#include "data/epoch_plan.h"
#include "data/prefetcher.h"
#include "data/upload.h"
#include "sheaf/base/error.h"

namespace sheaf::data {
namespace {

using Clock = std::chrono::steady_clock;

const Dataset& checked(const std::shared_ptr<const Dataset>& dataset,
                       const LoaderOptions& options) {
  if (dataset == nullptr) throw UsageError("a loader needs a dataset, got none");
  if (options.rank < 0 || options.rank >= options.ranks) {
    throw UsageError(
        fmt::format("a loader's rank must be one of {}, got {}", options.ranks, options.rank));
  }
  if (options.workers < 0) {
    throw UsageError(
        fmt::format("workers of a loader must be at least 0, got {}", options.workers));
  }
  if (options.prefetch < 1) {
    throw UsageError(
        fmt::format("prefetch of a loader must be at least 1, got {}", options.prefetch));
  }
  return *dataset;
}

EpochPlan plan_from(const Dataset& dataset, const LoaderOptions& options, Position start) {
  return EpochPlan({.size = dataset.size(),
                    .global_batch = options.global_batch,
                    .partial_batches = options.partial_batches,
                    .start = start});
}

}  // namespace

/// One pass through batches from a position on; workers read it without a lock.
struct Loader::Impl {
  Impl(std::shared_ptr<const Dataset> set, const LoaderOptions& asked)
      : dataset(std::move(set)),
        options(asked),
        order(checked(dataset, asked).parts(), asked.seed, asked.shuffle),
        plan(plan_from(*dataset, asked, asked.start)) {
    start_workers();
  }

  void start_workers() {
    if (options.device.is_cuda()) upload.emplace(options.device);
    if (options.workers == 0) return;
    prefetcher.emplace(
        [this](std::int64_t n) { return make(n); }, options.workers, options.prefetch);
  }

  void restart(Position start) {
    auto next_plan = plan_from(*dataset, options, start);
    prefetcher.reset();
    upload.reset();
    plan = next_plan;
    number = 0;
    start_workers();
  }

  [[nodiscard]] Batch make(std::int64_t batch_number) const {
    const auto [position, samples] = plan.batch(batch_number);
    const Share share = share_of(samples, options.rank, options.ranks);
    Batch batch{.first_sample = share.first,
                .global_samples = samples,
                .position = position,
                .next = plan.after(position, samples)};
    const Rows rows = make_rows(share.count);
    batch.samples.reserve(static_cast<std::size_t>(share.count));
    for (std::int64_t row = 0; row < share.count; ++row) {
      const Position place = plan.after(position, share.first + row);
      batch.samples.push_back(order.at(place.epoch, place.done));
      dataset->fill(batch.samples.back(), row, rows);
    }
    batch.inputs = rows.inputs;
    batch.targets = rows.targets;
    batch.positions = rows.positions;
    return batch;
  }

  [[nodiscard]] Batch next_on_host() { return prefetcher ? prefetcher->take() : make(number); }

  /// The batch after it starts to travel at once, before the caller gives the GPU its step.
  [[nodiscard]] Batch next_on_device() {
    if (!upload->started()) upload->start(next_on_host());
    Batch batch = upload->take();
    if (!prefetcher || !options.copy_ahead) return batch;
    if (auto ahead = prefetcher->take_if_ready()) upload->start(std::move(*ahead));
    return batch;
  }

  /// Makes empty tensors; for CUDA in page-locked memory, so that the copy need not wait.
  [[nodiscard]] Rows make_rows(std::int64_t count) const {
    Rows rows = dataset->make_batch(count);
    if (!options.device.is_cuda()) return rows;
    const c10::DeviceGuard guard(options.device);
    for (at::Tensor* tensor : {&rows.inputs, &rows.targets, &rows.positions}) {
      if (!tensor->defined()) continue;
      *tensor = at::empty_like(*tensor, tensor->options().pinned_memory(true));
    }
    return rows;
  }

  std::shared_ptr<const Dataset> dataset;
  LoaderOptions options;
  Order order;
  EpochPlan plan;
  /// Number, in the plan, of the batch that next() returns.
  std::int64_t number = 0;
  Seconds waited{0};
  /// CUDA only.
  std::optional<Upload> upload;
  // The last member: its threads end before what they read.
  std::optional<Prefetcher> prefetcher;
};

Loader::Loader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options)
    : impl_(std::make_unique<Impl>(std::move(dataset), options)) {}
Loader::~Loader() = default;
Loader::Loader(Loader&&) noexcept = default;

Batch Loader::next() {
  const auto begin = Clock::now();
  Batch batch = impl_->upload ? impl_->next_on_device() : impl_->next_on_host();
  impl_->waited += Clock::now() - begin;
  ++impl_->number;
  return batch;
}

Position Loader::position() const { return impl_->plan.batch(impl_->number).position; }

void Loader::set_epoch(std::int64_t epoch) { impl_->restart({.epoch = epoch, .done = 0}); }

Seconds Loader::waited() const { return impl_->waited; }

}  // namespace sheaf::data
