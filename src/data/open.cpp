#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <functional>
#include <utility>

#include "base/quoting.h"
#include "data/byte_source.h"
#include "data/digits.h"
#include "data/packed_text.h"
#include "data/random_source.h"
#include "sheaf/base/error.h"
#include "sheaf/data/byte_tokenizer.h"
#include "sheaf/data/embedded_corpus.h"
#include "sheaf/data/options.h"
#include "sheaf/data/stories.h"
#include "sheaf/data/token_files.h"
#include "sheaf/data/tokenizer.h"

namespace sheaf::data {
namespace {

// Stories are made once and kept; each takes a byte per token.
constexpr std::int64_t kMostStories = std::int64_t{1} << 34;
constexpr std::int64_t kLargestVocabulary = (std::int64_t{1} << 31) - 1;

class TokenFileSource final : public TokenSource {
 public:
  explicit TokenFileSource(TokenFiles files) : files_(std::move(files)) {}
  [[nodiscard]] std::int64_t size() const override { return files_.info().tokens; }
  void read(std::int64_t begin, std::int64_t count, std::int64_t* out) const override {
    files_.tokens(begin, count, out);
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

/// A source and what else is known of it.
struct Text {
  std::shared_ptr<const TokenSource> source;
  std::string name;
  std::int64_t vocabulary = ByteTokenizer::kVocabulary;
  std::shared_ptr<const Tokenizer> tokenizer = std::make_shared<ByteTokenizer>();
  /// Of token files: that of the tokenizer that made them.
  std::uint64_t tokenizer_hash = 0;
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

/// A text that is in memory: byte by byte, or by the tokenizer that the options name.
Text encoded(const DataOptions& options, std::string name, std::string_view text) {
  const auto tokenizer = tokenizer_of(options);
  auto source = std::make_shared<EncodedSource>(tokenizer->encode(text));
  return {.source = std::move(source),
          .name = std::move(name),
          .vocabulary = tokenizer->vocabulary(),
          .tokenizer = tokenizer};
}

Text open_embedded(const DataOptions& options) {
  constexpr const char* kName = "embedded text (tinyshakespeare)";
  if (!is_bytes(options)) return encoded(options, kName, embedded_corpus());
  return {.source = std::make_shared<ByteSource>(embedded_corpus()), .name = kName};
}

Text open_random(const DataOptions& options, const DataRequest& request) {
  if (request.vocabulary < 1 || request.vocabulary > kLargestVocabulary) {
    throw UsageError(
        fmt::format("data.source random needs a vocabulary between 1 and {} from the model, got {}",
                    kLargestVocabulary,
                    request.vocabulary));
  }
  return {.source = std::make_shared<RandomSource>(options.size, request.vocabulary, request.seed),
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
  return {.source = std::make_shared<ByteSource>(std::move(text)), .name = "stories"};
}

Text open_tokens(const std::string& path) {
  TokenFiles files(path);
  const TokenFileInfo info = files.info();
  Text text{.name = files.files().size() == 1
                        ? "token file " + path
                        : fmt::format("{} token files in {}", files.files().size(), path),
            .vocabulary = info.vocabulary,
            .tokenizer_hash = info.tokenizer_hash};
  if (info.tokenizer_hash != text.tokenizer->hash()) text.tokenizer = nullptr;
  text.source = std::make_shared<TokenFileSource>(std::move(files));
  return text;
}

/// Gives token files the tokenizer that the options name, if it is the one that made them.
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

/// Runs `open` on data.path and puts the option's name before what it refuses.
template <class Result>
Result with_path(const DataOptions& options,
                 const std::function<Result(const std::string&)>& open) {
  if (options.path.empty()) {
    throw UsageError(
        fmt::format("data.path is empty, but data.source {} needs {}",
                    enum_name(options.source),
                    options.source == Source::mnist
                        ? "a folder of IDX files: make one with './dev data mnist'"
                        : "a token file, or a folder of them: make one with 'sheaf data "
                          "pack'"));
  }
  try {
    return open(options.path);
  } catch (const Error& error) {
    std::rethrow_exception(error.with_prefix("data.path: "));
  }
}

Text open_text(const DataOptions& options, const DataRequest& request) {
  switch (options.source) {
    case Source::random:
      return open_random(options, request);
    case Source::stories:
      return open_stories(options, request);
    case Source::tokens:
      return with_tokenizer(with_path<Text>(options, open_tokens), options);
    default:
      return open_embedded(options);
  }
}

void check_text(const Text& text, const DataRequest& request) {
  if (request.context < 1) {
    throw UsageError(fmt::format(
        "data.source of a text needs a context of at least 1 token from the model, got {}",
        request.context));
  }
  if (request.vocabulary > 0 && text.vocabulary > request.vocabulary) {
    throw UsageError(
        fmt::format("{} has a vocabulary of {} tokens, which is more than the model's {}",
                    text.name,
                    text.vocabulary,
                    request.vocabulary));
  }
}

std::string left_out_of(const PackedText& text) {
  return text.left_out() == 0 ? "" : fmt::format(" ({} tokens left out)", text.left_out());
}

Data pack(Text text, double evaluation_part, std::int64_t context) {
  const std::int64_t tokens = text.source->size();
  const auto [training, evaluation] = split_tokens(tokens, evaluation_part, context);
  const auto train = std::make_shared<PackedText>(text.source, training, context);
  Data data{.training = train,
            .info = {.vocabulary = text.vocabulary},
            .tokenizer = std::move(text.tokenizer)};
  data.info.description = fmt::format("{}, {} tokens: {} samples of {} tokens for training{}",
                                      text.name,
                                      tokens,
                                      train->size(),
                                      context,
                                      left_out_of(*train));
  if (evaluation.count > 0) {
    const auto judged = std::make_shared<PackedText>(text.source, evaluation, context);
    data.evaluation = judged;
    data.info.description +=
        fmt::format(", {} for evaluation{}", judged->size(), left_out_of(*judged));
  }
  return data;
}

Data open_digits(const std::string& folder) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    throw UsageError("there is no such folder, make it with './dev data mnist': " + folder);
  }
  const auto read = [&](const std::string& part) {
    return std::make_shared<Digits>(find_digits_file(folder, part, "images-idx3"),
                                    find_digits_file(folder, part, "labels-idx1"));
  };
  Data data{.training = read("train"), .evaluation = read("t10k")};
  data.info = {.description = fmt::format("digits in {}: {} images for training, {} for evaluation",
                                          folder,
                                          data.training->size(),
                                          data.evaluation->size()),
               .vocabulary = Digits::kClasses};
  return data;
}

}  // namespace

Data open(const DataOptions& options, const DataRequest& request) {
  if (!(options.evaluation_part >= 0 && options.evaluation_part <= 0.9)) {
    throw UsageError(fmt::format("data.evaluation_part must be between 0 and 0.9, got {}",
                                 options.evaluation_part));
  }
  if (options.size < 1) {
    throw UsageError(fmt::format("data.size must be at least 1, got {}", options.size));
  }
  if (!options.tokenizer.empty() &&
      (options.source == Source::mnist || options.source == Source::random)) {
    throw UsageError(fmt::format("data.tokenizer has nothing to do with data.source {}, got {}",
                                 enum_name(options.source),
                                 in_quotes(options.tokenizer)));
  }
  if (options.source == Source::mnist) return with_path<Data>(options, open_digits);
  Text text = open_text(options, request);
  check_text(text, request);
  return pack(std::move(text), options.evaluation_part, request.context);
}

}  // namespace sheaf::data
