// Data whose documents are kept apart, and data from several sources.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "data/scratch.h"
#include "sheaf/data/byte_tokenizer.h"
#include "sheaf/data/embedded_corpus.h"
#include "sheaf/data/options.h"
#include "sheaf/data/stories.h"
#include "sheaf/data/token_file.h"
#include "sheaf/data/tokenizer.h"
#include "sheaf/data/tokenizer_training.h"
#include "support/on_ranks.h"

namespace sheaf::data {
namespace {

using sheaf::testing::error_of;
using ::testing::HasSubstr;
using testing::Scratch;

Rows row_of(const Dataset& dataset, std::int64_t index) {
  Rows rows = dataset.make_batch(1);
  dataset.fill(index, 0, rows);
  return rows;
}

/// Returns the places in a row where a document begins, the first one always.
std::vector<std::int64_t> starts_of(const Rows& rows) {
  const at::Tensor places = (rows.positions[0] == 0).nonzero().flatten();
  return {places.const_data_ptr<std::int64_t>(),
          places.const_data_ptr<std::int64_t>() + places.numel()};
}

std::string decode(const Tokenizer& tokenizer,
                   const Rows& rows,
                   std::int64_t begin,
                   std::int64_t end) {
  const auto* tokens = rows.inputs.const_data_ptr<std::int64_t>();
  return tokenizer.decode({tokens + begin, tokens + end});
}

void write_tokens(const std::string& path,
                  const std::vector<std::string>& documents,
                  std::uint64_t hash = ByteTokenizer().hash()) {
  TokenFileWriter writer(path, {.vocabulary = 256, .tokenizer_hash = hash});
  for (const std::string& document : documents) {
    writer.add_document(ByteTokenizer().encode(document));
  }
  writer.finish();
}

TEST(OpenDocuments, KeepsThoseOfTokenFilesApart) {
  const Scratch scratch;
  write_tokens(scratch.path("a.tok"), {"one", "", "three", "four"});
  write_tokens(scratch.path("b.tok"), {"five"});
  const Data data = open(
      {.source = Source::tokens, .path = scratch.path(), .boundaries = true, .evaluation_part = 0},
      {.context = 15});
  const Rows rows = row_of(*data.training, 0);
  EXPECT_EQ(ByteTokenizer().decode({rows.inputs.const_data_ptr<std::int64_t>(), 15}),
            "onethreefourfiv");
  EXPECT_THAT(starts_of(rows), ::testing::ElementsAre(0, 3, 8, 12));
  EXPECT_EQ((rows.targets == kIgnoredTarget).sum().item<int>(), 3);
  EXPECT_THAT(data.info.description, HasSubstr("documents are kept apart"));
}

TEST(OpenDocuments, BeginsThoseOfTextsAfterBlankLines) {
  for (const Source source : {Source::embedded, Source::stories}) {
    const Data data =
        open({.source = source, .boundaries = true, .size = 5000}, {.context = 1000, .seed = 8});
    const Rows rows = row_of(*data.training, 1);
    const std::string text =
        source == Source::embedded ? std::string(embedded_corpus()) : stories(8, 5000);
    const auto starts = starts_of(rows);
    EXPECT_GT(starts.size(), 2U);
    for (std::int64_t i = 1; i < 1000; ++i) {
      const auto end = static_cast<std::size_t>(1000 + i);
      const bool begins = text.substr(end - 2, 2) == "\n\n" && text[end] != '\n';
      EXPECT_EQ(begins, rows.positions[0][i].item<std::int64_t>() == 0) << i;
    }
  }
}

TEST(OpenDocuments, EncodesEachByItself) {
  const Scratch scratch;
  WordCounts words(WordPattern::gpt2);
  words.add(embedded_corpus().substr(0, 50'000));
  const auto path = scratch.write("tokenizer.json", train_tokenizer(words, {.size = 400}));
  const Data data =
      open({.source = Source::stories, .boundaries = true, .tokenizer = path, .size = 5000},
           {.context = 200, .seed = 8});
  const Rows rows = row_of(*data.training, 0);
  const auto starts = starts_of(rows);
  ASSERT_GT(starts.size(), 2U);
  EXPECT_EQ(decode(*data.tokenizer, rows, starts[0], starts[1]), story(8, 0) + "\n");
  EXPECT_EQ(decode(*data.tokenizer, rows, starts[1], starts[2]), story(8, 1) + "\n");
}

TEST(OpenDocuments, RefusesSourcesWithoutDocuments) {
  const auto error_with = [](const DataOptions& options) {
    return error_of([&] { (void)open(options, {.context = 4, .vocabulary = 256}); });
  };
  EXPECT_EQ(error_with({.source = Source::random, .boundaries = true}),
            "data.boundaries needs documents, and data.source random has none: set it to false");
  EXPECT_EQ(error_with({.source = Source::mnist, .boundaries = true}),
            "data.boundaries needs documents, and data.source mnist has none: set it to false");
}

DataOptions mix_of(const Scratch& scratch, const std::vector<double>& weights) {
  return {.source = Source::tokens,
          .paths = {scratch.path("a.tok"), scratch.path("b.tok")},
          .weights = weights,
          .evaluation_part = 0.5};
}

TEST(OpenMix, JoinsSeveralTokenFiles) {
  const Scratch scratch;
  write_tokens(scratch.path("a.tok"), {"0123456789"});
  write_tokens(scratch.path("b.tok"), {"abcdefghijklmnopqrst"});
  const Data data = open(mix_of(scratch, {3, 1}), {.context = 4});
  EXPECT_EQ(data.training->size(), 3);
  EXPECT_EQ(data.training->parts()[0].weight, 3);
  EXPECT_EQ(data.evaluation->size(), 3);
  EXPECT_EQ(decode(*data.tokenizer, row_of(*data.training, 2), 0, 4), "efgh");
  EXPECT_EQ(decode(*data.tokenizer, row_of(*data.evaluation, 0), 0, 4), "5678");
  EXPECT_EQ(data.info.description,
            "75.0 % from token file " + scratch.path("a.tok") +
                ", 10 tokens: 1 samples of 4 tokens for training, 1 for evaluation; "
                "25.0 % from token file " +
                scratch.path("b.tok") +
                ", 20 tokens: 2 samples of 4 tokens for training (1 tokens left out), 2 for "
                "evaluation (1 tokens left out)");
}

TEST(OpenMix, DrawsBySizeWithoutWeights) {
  const Scratch scratch;
  write_tokens(scratch.path("a.tok"), {"0123456789"});
  write_tokens(scratch.path("b.tok"), {"abcdefghijklmnopqrst"});
  const auto parts = open(mix_of(scratch, {}), {.context = 4}).training->parts();
  EXPECT_EQ(parts[0].weight, 1);
  EXPECT_EQ(parts[1].weight, 2);
}

TEST(OpenMix, KeepsDocumentsApart) {
  const Scratch scratch;
  write_tokens(scratch.path("a.tok"), {"01", "23456789"});
  write_tokens(scratch.path("b.tok"), {"abc", "defghijklmnopqrst"});
  DataOptions options = mix_of(scratch, {});
  options.boundaries = true;
  const Data data = open(options, {.context = 4});
  EXPECT_THAT(starts_of(row_of(*data.training, 0)), ::testing::ElementsAre(0, 2));
  EXPECT_THAT(starts_of(row_of(*data.training, 1)), ::testing::ElementsAre(0, 3));
}

TEST(OpenMix, RefusesFilesOfDifferentTokenizers) {
  const Scratch scratch;
  write_tokens(scratch.path("a.tok"), {"0123456789"});
  write_tokens(scratch.path("b.tok"), {"0123456789"}, 1);
  EXPECT_THAT(error_of([&] { (void)open(mix_of(scratch, {}), {.context = 4}); }),
              HasSubstr("b.tok is of another tokenizer than token file"));
}

TEST(OpenMix, SaysWhichSourceIsWrong) {
  const Scratch scratch;
  write_tokens(scratch.path("a.tok"), {"0123456789"});
  EXPECT_THAT(error_of([&] { (void)open(mix_of(scratch, {}), {.context = 4}); }),
              HasSubstr("data.paths: there is no file"));
  write_tokens(scratch.path("b.tok"), {"0"});
  EXPECT_THAT(error_of([&] { (void)open(mix_of(scratch, {}), {.context = 4}); }),
              HasSubstr("b.tok: 1 tokens are too few"));
}

TEST(OpenMix, RefusesWeightsThatCannotBe) {
  const Scratch scratch;
  const auto error_with = [&](const std::vector<double>& weights) {
    return error_of([&] { (void)open(mix_of(scratch, weights), {.context = 4}); });
  };
  EXPECT_EQ(error_with({1, 2, 3}),
            "data.weights must have a number for each of the 2 data.paths, got 3");
  EXPECT_EQ(error_with({1, -1}),
            "data.weights: a weight must be a finite number and at least 0, got -1");
  EXPECT_EQ(error_with({1, std::numeric_limits<double>::quiet_NaN()}),
            "data.weights: a weight must be a finite number and at least 0, got nan");
  EXPECT_EQ(error_with({0, 0}),
            "data.weights: one weight at least must be above 0, got 2 without one");
}

TEST(OpenMix, RefusesPathsThatMeanNothing) {
  const Scratch scratch;
  DataOptions options = mix_of(scratch, {});
  options.path = "c.tok";
  EXPECT_EQ(error_of([&] { (void)open(options, {.context = 4}); }),
            "data.path and data.paths cannot both be given, got 'c.tok' and 2 more");
  options.paths = {};
  options.weights = {1};
  EXPECT_EQ(
      error_of([&] { (void)open(options, {.context = 4}); }),
      "data.weights says how often each of data.paths is drawn from, but data.paths is empty");
  options.source = Source::stories;
  EXPECT_EQ(error_of([&] { (void)open(options, {.context = 4}); }),
            "data.paths and data.weights are for data.source tokens, got stories");
}

}  // namespace
}  // namespace sheaf::data
