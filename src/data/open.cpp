#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <utility>

#include "base/quoting.h"
#include "data/digits.h"
#include "data/joined_data.h"
#include "data/packed_text.h"
#include "data/text_sources.h"
#include "sheaf/base/error.h"
#include "sheaf/data/interleaving.h"
#include "sheaf/data/options.h"

namespace sheaf::data {
namespace {

/// Returns what `open` returns, and puts a name before what it refuses.
template <class Open>
auto with_name(const std::string& name, const Open& open) {
  try {
    return open();
  } catch (const Error& error) {
    std::rethrow_exception(error.with_prefix(name + ": "));
  }
}

const std::string& path_of(const DataOptions& options) {
  if (!options.path.empty()) return options.path;
  throw UsageError(fmt::format("data.path is empty, but data.source {} needs {}",
                               enum_name(options.source),
                               options.source == Source::mnist
                                   ? "a folder of IDX files: make one with './dev data mnist'"
                                   : "a token file, or a folder of them: make one with 'sheaf data "
                                     "pack'"));
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
  const std::int64_t tokens = text.tokens.source->size();
  const auto [training, evaluation] = split_tokens(tokens, evaluation_part, context);
  const auto train = std::make_shared<PackedText>(text.tokens, training, context);
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
    const auto judged = std::make_shared<PackedText>(text.tokens, evaluation, context);
    data.evaluation = judged;
    data.info.description +=
        fmt::format(", {} for evaluation{}", judged->size(), left_out_of(*judged));
  }
  return data;
}

/// Says what a mix is made of, with the part of the samples that each source has.
std::string describe_mix(const std::vector<DataPart>& parts,
                         const std::vector<std::string>& descriptions) {
  double sum = 0;
  for (const DataPart& part : parts) sum += part.weight;
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += fmt::format("{}{:.1f} % from {}",
                        text.empty() ? "" : "; ",
                        100 * parts[i].weight / sum,
                        descriptions[i]);
  }
  return text;
}

void check_paths(const DataOptions& options) {
  const auto& paths = options.paths;
  const auto& weights = options.weights;
  if (paths.empty() && weights.empty()) return;
  if (options.source != Source::tokens) {
    throw UsageError(fmt::format("data.paths and data.weights are for data.source tokens, got {}",
                                 enum_name(options.source)));
  }
  if (paths.empty()) {
    throw UsageError(
        "data.weights says how often each of data.paths is drawn from, but data.paths is empty");
  }
  if (!options.path.empty()) {
    throw UsageError(
        fmt::format("data.path and data.paths cannot both be given, got {} and {} more",
                    in_quotes(options.path),
                    paths.size()));
  }
  if (weights.empty()) return;
  if (weights.size() != paths.size()) {
    throw UsageError(
        fmt::format("data.weights must have a number for each of the {} data.paths, got {}",
                    paths.size(),
                    weights.size()));
  }
  static_cast<void>(with_name("data.weights", [&] { return Interleaving(weights); }));
}

void require_same_tokenizer(const Text& first, const Text& other) {
  if (first.vocabulary == other.vocabulary && first.tokenizer_hash == other.tokenizer_hash) return;
  throw UsageError(
      fmt::format("{} is of another tokenizer than {}: pack all with one", other.name, first.name));
}

std::vector<Text> open_texts(const DataOptions& options) {
  std::vector<Text> texts;
  for (const std::string& path : options.paths) {
    Text text = with_name("data.paths", [&] { return open_token_text(path, options.boundaries); });
    texts.push_back(with_tokenizer(std::move(text), options));
    require_same_tokenizer(texts.front(), texts.back());
  }
  return texts;
}

/// Several texts, each with its own part for evaluation, drawn from by their weights.
Data pack_all(std::vector<Text> texts, const DataOptions& options, const DataRequest& request) {
  std::vector<std::shared_ptr<const Dataset>> training;
  std::vector<std::shared_ptr<const Dataset>> evaluation;
  std::vector<std::string> descriptions;
  Data data;
  for (Text& text : texts) {
    check_text(text, request);
    const std::string name = text.name;
    data = with_name(
        name, [&] { return pack(std::move(text), options.evaluation_part, request.context); });
    training.push_back(data.training);
    if (data.evaluation) evaluation.push_back(data.evaluation);
    descriptions.push_back(data.info.description);
  }
  data.training = std::make_shared<JoinedData>(std::move(training), options.weights);
  if (!evaluation.empty()) {
    data.evaluation = std::make_shared<JoinedData>(std::move(evaluation), std::vector<double>());
  }
  data.info.description = describe_mix(data.training->parts(), descriptions);
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

void check(const DataOptions& options) {
  if (!(options.evaluation_part >= 0 && options.evaluation_part <= 0.9)) {
    throw UsageError(fmt::format("data.evaluation_part must be between 0 and 0.9, got {}",
                                 options.evaluation_part));
  }
  if (options.size < 1 || options.size > kMostTokens) {
    throw UsageError(
        fmt::format("data.size must be between 1 and {}, got {}", kMostTokens, options.size));
  }
  if (!options.tokenizer.empty() &&
      (options.source == Source::mnist || options.source == Source::random)) {
    throw UsageError(fmt::format("data.tokenizer has nothing to do with data.source {}, got {}",
                                 enum_name(options.source),
                                 in_quotes(options.tokenizer)));
  }
  if (options.boundaries && options.source == Source::mnist) {
    throw UsageError(
        "data.boundaries needs documents, and data.source mnist has none: set it to false");
  }
  check_paths(options);
}

Text open_text(const DataOptions& options, const DataRequest& request) {
  if (options.source != Source::tokens) return open_made_text(options, request);
  const std::string& path = path_of(options);
  Text text = with_name("data.path", [&] { return open_token_text(path, options.boundaries); });
  return with_tokenizer(std::move(text), options);
}

Data open_packed(const DataOptions& options, const DataRequest& request) {
  if (!options.paths.empty()) return pack_all(open_texts(options), options, request);
  Text text = open_text(options, request);
  check_text(text, request);
  return pack(std::move(text), options.evaluation_part, request.context);
}

}  // namespace

Data open(const DataOptions& options, const DataRequest& request) {
  check(options);
  if (options.source == Source::mnist) {
    const std::string& folder = path_of(options);
    return with_name("data.path", [&] { return open_digits(folder); });
  }
  Data data = open_packed(options, request);
  if (options.boundaries) data.info.description += "; documents are kept apart";
  return data;
}

}  // namespace sheaf::data
