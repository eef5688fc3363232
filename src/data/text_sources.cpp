#include "data/text_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "data/byte_source.h"
#include "data/listed_documents.h"
#include "data/random_source.h"
#include "sheaf/base/error.h"
#include "sheaf/data/embedded_corpus.h"
#include "sheaf/data/stories.h"
#include "sheaf/data/token_files.h"

namespace sheaf::data {
namespace {

// Stories are made once and kept; each takes a byte per token.
constexpr std::int64_t kMostStories = std::int64_t{1} << 34;
constexpr std::int64_t kLargestVocabulary = (std::int64_t{1} << 31) - 1;

/// Both what token files hold and where their documents are.
class TokenFileSource final : public TokenSource, public DocumentIndex {
 public:
  explicit TokenFileSource(TokenFiles files) : files_(std::move(files)) {}
  [[nodiscard]] std::int64_t size() const override { return files_.info().tokens; }
  void read(std::int64_t begin, std::int64_t count, std::int64_t* out) const override {
    files_.tokens(begin, count, out);
  }
  [[nodiscard]] std::vector<std::int64_t> starts_in(std::int64_t begin,
                                                    std::int64_t count) const override {
    return files_.document_starts(begin, count);
  }

 private:
  TokenFiles files_;
};

/// Tokens that are all in memory.
class EncodedSource final : public TokenSource {
 public:
  explicit EncodedSource(std::vector<std::int64_t> tokens) : tokens_(std::move(tokens)) {}
  [[nodiscard]] std::int64_t size() const override {
    return static_cast<std::int64_t>(tokens_.size());
  }
  void read(std::int64_t begin, std::int64_t count, std::int64_t* out) const override {
    std::copy_n(tokens_.begin() + begin, count, out);
  }

 private:
  std::vector<std::int64_t> tokens_;
};

bool is_bytes(const DataOptions& options) {
  return options.tokenizer.empty() || options.tokenizer == "bytes";
}

std::shared_ptr<const Tokenizer> tokenizer_of(const DataOptions& options) {
  try {
    return open_tokenizer(options.tokenizer);
  } catch (const Error& error) {
    std::rethrow_exception(error.with_prefix("data.tokenizer: "));
  }
}

/// Joins the tokens of documents and lists where each begins.
DocumentTokens joined(const std::vector<std::vector<std::int64_t>>& documents) {
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> starts;
  for (const auto& document : documents) {
    if (document.empty()) continue;
    starts.push_back(static_cast<std::int64_t>(tokens.size()));
    tokens.insert(tokens.end(), document.begin(), document.end());
  }
  return {.source = std::make_shared<EncodedSource>(std::move(tokens)),
          .documents = std::make_shared<ListedDocuments>(std::move(starts))};
}

/// A text by the tokenizer that the options name; no token goes over a boundary.
Text encoded(const DataOptions& options, std::string name, std::string_view text) {
  const auto tokenizer = tokenizer_of(options);
  Text result{.tokens = {},
              .name = std::move(name),
              .vocabulary = tokenizer->vocabulary(),
              .tokenizer = tokenizer};
  if (options.boundaries) {
    result.tokens = joined(encode_all(*tokenizer, split_at_blank_lines(text)));
  } else {
    result.tokens.source = std::make_shared<EncodedSource>(tokenizer->encode(text));
  }
  return result;
}

/// The documents of a text whose bytes are its tokens; null where they do not matter.
std::shared_ptr<const DocumentIndex> byte_documents(const DataOptions& options,
                                                    std::string_view text) {
  if (!options.boundaries) return nullptr;
  std::vector<std::int64_t> starts;
  for (const std::string_view part : split_at_blank_lines(text)) {
    starts.push_back(part.data() - text.data());
  }
  return std::make_shared<ListedDocuments>(std::move(starts));
}

Text open_embedded(const DataOptions& options) {
  constexpr const char* kName = "embedded text (tinyshakespeare)";
  const std::string_view text = embedded_corpus();
  if (!is_bytes(options)) return encoded(options, kName, text);
  return {.tokens = {.source = std::make_shared<ByteSource>(text),
                     .documents = byte_documents(options, text)},
          .name = kName};
}

Text open_random(const DataOptions& options, const DataRequest& request) {
  if (request.vocabulary < 1 || request.vocabulary > kLargestVocabulary) {
    throw UsageError(
        fmt::format("data.source random needs a vocabulary between 1 and {} from the model, got {}",
                    kLargestVocabulary,
                    request.vocabulary));
  }
  if (options.boundaries) {
    throw UsageError(
        "data.boundaries needs documents, and data.source random has none: set it to false");
  }
  return {.tokens = {.source = std::make_shared<RandomSource>(
                         options.size, request.vocabulary, request.seed)},
          .name = "random tokens",
          .vocabulary = request.vocabulary,
          .tokenizer = nullptr};
}

Text open_stories(const DataOptions& options, const DataRequest& request) {
  if (options.size > kMostStories) {
    throw UsageError(
        fmt::format("data.size of stories must be at most {}, got {}: for more, use "
                    "data.source random or a token file",
                    kMostStories,
                    options.size));
  }
  std::string text = stories(request.seed, options.size);
  if (!is_bytes(options)) return encoded(options, "stories", text);
  auto documents = byte_documents(options, text);
  return {.tokens = {.source = std::make_shared<ByteSource>(std::move(text)),
                     .documents = std::move(documents)},
          .name = "stories"};
}

}  // namespace

Text open_made_text(const DataOptions& options, const DataRequest& request) {
  if (options.source == Source::random) return open_random(options, request);
  if (options.source == Source::stories) return open_stories(options, request);
  return open_embedded(options);
}

Text open_token_text(const std::string& path, bool boundaries) {
  TokenFiles files(path);
  const TokenFileInfo info = files.info();
  if (boundaries && info.documents == 0) {
    throw UsageError(
        "data.boundaries needs documents, and none are listed here: make the files with 'sheaf "
        "data pack', or set it to false: " +
        path);
  }
  Text text{.tokens = {},
            .name = files.files().size() == 1
                        ? "token file " + path
                        : fmt::format("{} token files in {}", files.files().size(), path),
            .vocabulary = info.vocabulary,
            .tokenizer_hash = info.tokenizer_hash};
  if (info.tokenizer_hash != text.tokenizer->hash()) text.tokenizer = nullptr;
  const auto source = std::make_shared<TokenFileSource>(std::move(files));
  text.tokens.source = source;
  if (boundaries) text.tokens.documents = source;
  return text;
}

Text with_tokenizer(Text text, const DataOptions& options) {
  if (options.tokenizer.empty()) return text;
  text.tokenizer = tokenizer_of(options);
  if (text.tokenizer->hash() == text.tokenizer_hash) return text;
  throw UsageError(fmt::format(
      "data.tokenizer is not what made data.path: its hash is {:016x}, that of {} is {:016x}",
      text.tokenizer->hash(),
      text.name,
      text.tokenizer_hash));
}

}  // namespace sheaf::data
