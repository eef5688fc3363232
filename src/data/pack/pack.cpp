#include "sheaf/data/pack.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/quoting.h"
#include "data/pack/assembly_line.h"
#include "data/pack/document_batches.h"
#include "data/pack/shard_folder.h"
#include "sheaf/base/error.h"

namespace sheaf::data {
namespace {

struct EncodedBatch {
  std::vector<std::vector<std::int64_t>> documents;
  std::uint64_t text_bytes = 0;
};

std::optional<std::int64_t> end_token_of(const PackOptions& options) {
  const std::string& name = options.end_token.empty() ? options.input.separator : options.end_token;
  const auto token = options.tokenizer->find(name);
  if (!token && !options.end_token.empty()) {
    throw UsageError("the tokenizer has no token " + in_quotes(name));
  }
  return token;
}

void check(const PackOptions& options) {
  if (!options.tokenizer) throw UsageError("packing needs a tokenizer");
  if (options.out.empty()) throw UsageError("packing needs a folder to write to");
  if (options.shard_tokens < 1) {
    throw UsageError(
        fmt::format("a shard must have room for at least 1 token, got {}", options.shard_tokens));
  }
}

Bytes size_of(const std::string& folder) {
  std::int64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    bytes += static_cast<std::int64_t>(entry.file_size());
  }
  return {bytes};
}

/// What the threads of one packing share.
class Packing {
 public:
  explicit Packing(const PackOptions& options)
      : options_(options),
        batches_(options.input),
        folder_(options.out,
                {.vocabulary = options.tokenizer->vocabulary(),
                 .tokenizer_hash = options.tokenizer->hash()},
                options.shard_tokens) {
    summary_.end_token = end_token_of(options);
  }

  PackSummary run() {
    AssemblyLine<RawBatch, EncodedBatch> line(
        {.take = [this](RawBatch& batch) { return batches_.take(batch); },
         .work = [this](RawBatch batch) { return encode(std::move(batch)); },
         .hand_on = [this](EncodedBatch batch) { write(batch); }});
    run_on_threads(threads_of(options_.input), [&line] { line.run_thread(); });
    line.check();
    if (summary_.documents == 0) throw UsageError("the files have no documents, only white space");
    summary_.shards = folder_.finish();
    summary_.size = size_of(options_.out);
    return summary_;
  }

 private:
  EncodedBatch encode(RawBatch batch) const {
    EncodedBatch encoded;
    for (RawDocument& raw : batch) {
      const std::string text = batches_.text_of(std::move(raw));
      if (is_blank(text)) continue;
      encoded.text_bytes += text.size();
      encoded.documents.push_back(options_.tokenizer->encode(text));
      if (summary_.end_token) encoded.documents.back().push_back(*summary_.end_token);
    }
    return encoded;
  }

  void write(const EncodedBatch& batch) {
    for (const auto& tokens : batch.documents) {
      folder_.add_document(tokens);
      ++summary_.documents;
      summary_.tokens += static_cast<std::int64_t>(tokens.size());
    }
    summary_.text_bytes += batch.text_bytes;
    if (!options_.input.progress) return;
    ReadProgress progress = batches_.progress();
    progress.documents = summary_.documents;
    progress.tokens = summary_.tokens;
    options_.input.progress(progress);
  }

  const PackOptions& options_;
  DocumentBatches batches_;
  ShardFolder folder_;
  PackSummary summary_;
};

}  // namespace

PackSummary pack(const PackOptions& options) {
  check(options);
  return Packing(options).run();
}

WordCounts count_words(const InputOptions& input, WordPattern pattern) {
  struct Counted {
    WordCounts words;
    std::int64_t documents = 0;
  };
  DocumentBatches batches(input);
  Counted all{WordCounts(pattern)};
  AssemblyLine<RawBatch, Counted> line(
      {.take = [&](RawBatch& batch) { return batches.take(batch); },
       .work =
           [&](RawBatch batch) {
             Counted counted{WordCounts(pattern), static_cast<std::int64_t>(batch.size())};
             for (RawDocument& raw : batch) counted.words.add(batches.text_of(std::move(raw)));
             return counted;
           },
       .hand_on =
           [&](const Counted& counted) {
             all.words.add(counted.words);
             all.documents += counted.documents;
             ReadProgress progress = batches.progress();
             progress.documents = all.documents;
             if (input.progress) input.progress(progress);
           }});
  run_on_threads(threads_of(input), [&line] { line.run_thread(); });
  line.check();
  return all.words;
}

}  // namespace sheaf::data
