#include "data/pack/document_batches.h"

#include <thread>

#include "base/cores.h"
#include "sheaf/base/error.h"

namespace sheaf::data {
namespace {

// Small enough that threads end at about the same time, large enough that locks do not matter.
constexpr std::size_t kBatchBytes = std::size_t{256} << 10;

}  // namespace

DocumentBatches::DocumentBatches(const InputOptions& input)
    : input_(input),
      reader_({.paths = input.paths, .separator = input.separator, .field = input.field}) {}

bool DocumentBatches::take(RawBatch& batch) {
  if (input_.should_stop && input_.should_stop()) {
    throw Error("interrupted; nothing was written");
  }
  std::size_t bytes = 0;
  while (bytes < kBatchBytes) {
    auto document = reader_.next();
    if (!document) break;
    bytes += document->text.size();
    batch.push_back(std::move(*document));
  }
  bytes_read_ = reader_.bytes_read();
  return !batch.empty();
}

int threads_of(const InputOptions& input) {
  return input.threads > 0 ? input.threads : usable_cores();
}

void run_on_threads(int threads, const std::function<void()>& body) {
  std::vector<std::jthread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(body);
  body();
}

}  // namespace sheaf::data
