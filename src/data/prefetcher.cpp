#include "data/prefetcher.h"

#include <fmt/format.h>
#include <pthread.h>

#include <system_error>
#include <utility>

#include "sheaf/base/error.h"

namespace sheaf::data {

Prefetcher::Prefetcher(Make make, int workers, int ahead)
    : make_(std::move(make)), slots_(static_cast<std::size_t>(ahead)) {
  try {
    for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    stop();
    throw IoError(fmt::format("cannot start {} threads for the data: {}", workers, error.what()));
  }
}

Prefetcher::~Prefetcher() { stop(); }

void Prefetcher::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  room_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Batch Prefetcher::take() {
  std::unique_lock lock(mutex_);
  auto& slot = slot_of(taken_);
  ready_.wait(lock, [&] { return slot.has_value(); });
  // What failed stays where it is: the batches behind it would leave a gap.
  if (const auto* error = std::get_if<std::exception_ptr>(&*slot)) std::rethrow_exception(*error);
  return hand_out(slot);
}

std::optional<Batch> Prefetcher::take_if_ready() {
  const std::lock_guard lock(mutex_);
  auto& slot = slot_of(taken_);
  if (!slot || !std::holds_alternative<Batch>(*slot)) return std::nullopt;
  return hand_out(slot);
}

Batch Prefetcher::hand_out(std::optional<Result>& slot) {
  Batch batch = std::move(std::get<Batch>(*slot));
  slot.reset();
  ++taken_;
  room_.notify_one();
  return batch;
}

void Prefetcher::work() {
  pthread_setname_np(pthread_self(), "sheaf-data");
  std::unique_lock lock(mutex_);
  while (true) {
    room_.wait(lock, [&] {
      return stopping_ || started_ < taken_ + static_cast<std::int64_t>(slots_.size());
    });
    if (stopping_) return;
    const std::int64_t number = started_++;
    lock.unlock();
    Result result = result_of(number);
    lock.lock();
    slot_of(number) = std::move(result);
    ready_.notify_one();
  }
}

Prefetcher::Result Prefetcher::result_of(std::int64_t number) const {
  try {
    return make_(number);
  } catch (...) {
    return std::current_exception();
  }
}

std::optional<Prefetcher::Result>& Prefetcher::slot_of(std::int64_t number) {
  return slots_[static_cast<std::size_t>(number) % slots_.size()];
}

}  // namespace sheaf::data
