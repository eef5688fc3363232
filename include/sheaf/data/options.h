#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sheaf/base/options.h"
#include "sheaf/data/dataset.h"

namespace sheaf::data {

/// More tokens than any run sees; keeps positions in the data within 64 bits.
inline constexpr std::int64_t kMostTokens = std::int64_t{1} << 50;

/// `embedded`: the text inside the program. `random`: random tokens, for speed runs.
/// `stories`: made by a small grammar, any amount. `tokens`: token files. `mnist`: a folder of IDX
/// files.
enum class Source { embedded, random, stories, tokens, mnist };

struct DataOptions {
  Source source = Source::embedded;
  /// File of `tokens` or folder of such files, folder of `mnist`.
  std::string path;
  /// Several such files or folders of `tokens` in place of one.
  std::vector<std::string> paths = {};
  /// How often each of them is drawn from, compared with the others; empty: by its size.
  std::vector<double> weights = {};
  /// Whether documents that share a sample are kept apart: positions count from 0 in each,
  /// attention and loss do not go from one to the next. `embedded` and `stories` have a document
  /// between blank lines.
  bool boundaries = false;
  /// What makes tokens of `embedded` and `stories`, and text of what was made of `tokens`: "bytes",
  /// or what open_tokenizer() takes. Empty: bytes, and for `tokens` unknown unless they are bytes.
  std::string tokenizer;
  /// Tokens of `random` and `stories`, training and evaluation together.
  std::int64_t size = 1 << 20;
  /// Part of a text that is kept apart for evaluation; digits have files for that.
  double evaluation_part = 0.1;
  /// Threads that make batches; 0: the training thread does it itself.
  int workers = 1;
  /// Batches made ahead.
  int prefetch = 2;
  /// For CUDA: copies the next batch while a step runs.
  bool copy_ahead = true;
  /// Whether each epoch has an order of its own.
  bool shuffle = true;
};

/// What the rest of the run decides about the data.
struct DataRequest {
  /// Tokens per text (T); not for images.
  std::int64_t context = 0;
  /// Vocabulary of `random`; 0 where the model takes the data's.
  std::int64_t vocabulary = 0;
  std::uint64_t seed = 0;
};

/// Opens what the options name. Throws UsageError for what is not there, is damaged, or too small
/// for one sample.
[[nodiscard]] Data open(const DataOptions& options, const DataRequest& request);

constexpr auto enum_names(Source) {
  return std::array{EnumName{"embedded", Source::embedded},
                    EnumName{"random", Source::random},
                    EnumName{"stories", Source::stories},
                    EnumName{"tokens", Source::tokens},
                    EnumName{"mnist", Source::mnist}};
}

template <class Fields>
void describe(Fields& field, DataOptions& options) {
  field("source", options.source, "where samples come from");
  field("path", options.path, "token file or folder of them, or folder of mnist");
  field("paths", options.paths, "several token files or folders in place of one");
  field("weights",
        options.weights,
        "how often each of paths is drawn from; empty: by its size",
        at_least(0.0));
  field("boundaries", options.boundaries, "keep documents apart in positions, attention and loss");
  field("tokenizer", options.tokenizer, "tokenizer.json, a folder with one, or bytes");
  field(
      "size", options.size, "tokens of random and stories", between(std::int64_t{1}, kMostTokens));
  field("evaluation_part",
        options.evaluation_part,
        "part of a text kept for evaluation",
        between(0.0, 0.9));
  field("workers",
        options.workers,
        "threads that make batches; 0: the training thread",
        between(0, 64));
  field("prefetch", options.prefetch, "batches made ahead", between(1, 1024));
  field("copy_ahead", options.copy_ahead, "on a GPU: copy the next batch while a step runs");
  field("shuffle", options.shuffle, "a new order of samples in each epoch");
}

}  // namespace sheaf::data
