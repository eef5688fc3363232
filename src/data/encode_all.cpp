#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "base/cores.h"
#include "sheaf/data/tokenizer.h"

namespace sheaf::data {
namespace {

/// What several threads do together: each takes the next text that nobody has.
class Batch {
 public:
  Batch(const Tokenizer& tokenizer, std::span<const std::string_view> texts)
      : tokenizer_(tokenizer), texts_(texts), results_(texts.size()) {}

  void work() {
    try {
      for (auto i = next_++; i < texts_.size(); i = next_++)
        results_[i] = tokenizer_.encode(texts_[i]);
    } catch (...) {
      next_ = texts_.size();
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  std::vector<std::vector<std::int64_t>> results() {
    if (error_) std::rethrow_exception(error_);
    return std::move(results_);
  }

 private:
  const Tokenizer& tokenizer_;
  std::span<const std::string_view> texts_;
  std::vector<std::vector<std::int64_t>> results_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

std::vector<std::vector<std::int64_t>> encode_all(const Tokenizer& tokenizer,
                                                  std::span<const std::string_view> texts,
                                                  int threads) {
  const std::size_t wanted = static_cast<std::size_t>(threads > 0 ? threads : usable_cores());
  Batch batch(tokenizer, texts);
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < std::min(wanted, texts.size()); ++i) {
    others.emplace_back([&batch] { batch.work(); });
  }
  batch.work();
  others.clear();
  return batch.results();
}

}  // namespace sheaf::data
