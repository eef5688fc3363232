#pragma once

#include <atomic>
#include <vector>

#include "data/pack/documents.h"
#include "sheaf/data/pack.h"

namespace sheaf::data {

/// Documents that one thread works on.
using RawBatch = std::vector<RawDocument>;

/// Takes batches of documents from files. For one thread at a time, but for what says otherwise.
class DocumentBatches {
 public:
  explicit DocumentBatches(const InputOptions& input);

  /// Returns false after the last. Throws Error if the input's should_stop says so.
  [[nodiscard]] bool take(RawBatch& batch);
  /// Returns a document's text; many threads may ask at once.
  [[nodiscard]] std::string text_of(RawDocument document) const {
    return reader_.text_of(std::move(document));
  }
  /// Returns how far that has come; any thread may ask.
  [[nodiscard]] ReadProgress progress() const {
    return {.bytes_read = bytes_read_, .bytes = reader_.bytes()};
  }

 private:
  const InputOptions& input_;
  DocumentReader reader_;
  std::atomic<std::uint64_t> bytes_read_ = 0;
};

/// Returns the threads that an input asks for.
[[nodiscard]] int threads_of(const InputOptions& input);
/// Runs `body` on that many threads, this one among them, and waits for all.
void run_on_threads(int threads, const std::function<void()>& body);

}  // namespace sheaf::data
