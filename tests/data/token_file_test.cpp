#include "sheaf/data/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "data/scratch.h"
#include "sheaf/base/error.h"
#include "support/on_ranks.h"

namespace sheaf::data {
namespace {

using sheaf::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::little;
using testing::read_bytes;
using testing::Scratch;

using Tokens = std::vector<std::int64_t>;

Tokens read(const TokenFile& file, std::int64_t begin, std::int64_t count) {
  Tokens tokens(static_cast<std::size_t>(count));
  file.tokens(begin, count, tokens.data());
  return tokens;
}

void write(const std::string& path,
           TokenFileOptions options,
           const std::vector<Tokens>& documents) {
  TokenFileWriter writer(path, options);
  for (const Tokens& document : documents) writer.add_document(document);
  writer.finish();
}

TEST(TokenFile, GivesBackWhatWasWritten) {
  const Scratch scratch;
  for (const std::int64_t vocabulary : {10L, 65'536L, 65'537L, 1L << 32}) {
    const auto path = scratch.path("a.tok");
    const Tokens last{7, vocabulary - 1};
    write(path, {.vocabulary = vocabulary, .tokenizer_hash = 99}, {{1, 2, 3}, {}, last});
    const TokenFile file(path);
    EXPECT_THAT(read(file, 0, 5), ElementsAre(1, 2, 3, 7, vocabulary - 1));
    EXPECT_THAT(read(file, 2, 2), ElementsAre(3, 7));
    EXPECT_THAT(read(file, 5, 0), IsEmpty());
    EXPECT_THAT(file.document_starts(), ElementsAre(0, 3, 3));
    EXPECT_EQ(file.info().tokens, 5);
    EXPECT_EQ(file.info().vocabulary, vocabulary);
    EXPECT_EQ(file.info().bytes_per_token, vocabulary <= 65'536 ? 2U : 4U);
    EXPECT_EQ(file.info().tokenizer_hash, 99U);
    file.verify();
  }
}

TEST(TokenFile, HasTheDocumentedBytes) {
  const Scratch scratch;
  write(scratch.path("a.tok"), {.vocabulary = 300, .tokenizer_hash = 5}, {{1, 2}, {258}});
  const auto bytes = read_bytes(scratch.path("a.tok"));
  EXPECT_EQ(bytes.substr(0, 48),
            "SHEAFTOK" + little(1, 4) + little(2, 4) + little(3, 8) + little(300, 8) +
                little(5, 8) + little(2, 8));
  EXPECT_EQ(bytes.substr(56),
            little(0, 8) + little(1, 2) + little(2, 2) + little(258, 2) + little(0, 2) +
                little(0, 8) + little(2, 8));
}

TEST(TokenFile, MayBeEmpty) {
  const Scratch scratch;
  write(scratch.path("a.tok"), {.vocabulary = 10}, {});
  const TokenFile file(scratch.path("a.tok"));
  EXPECT_EQ(file.info().tokens, 0);
  EXPECT_TRUE(file.document_starts().empty());
  file.verify();
}

TEST(TokenFile, HoldsMoreThanTheWriterKeeps) {
  const Scratch scratch;
  Tokens document(700'000);
  std::iota(document.begin(), document.end(), 0);
  for (const std::int64_t vocabulary : {700'000, 800'000}) {
    write(scratch.path("a.tok"), {.vocabulary = vocabulary}, {{5}, document, {6, 7}, document});
    const TokenFile file(scratch.path("a.tok"));
    EXPECT_EQ(read(file, 1, 700'000), document);
    EXPECT_EQ(read(file, 700'003, 700'000), document);
    EXPECT_THAT(read(file, 700'000, 3), ElementsAre(699'999, 6, 7));
    file.verify();
  }
}

TEST(TokenFile, IsReadByManyThreads) {
  const Scratch scratch;
  Tokens document(10'000);
  std::iota(document.begin(), document.end(), 0);
  write(scratch.path("a.tok"), {.vocabulary = 10'000}, {document});
  const TokenFile file(scratch.path("a.tok"));
  std::vector<std::thread> threads;
  std::vector<Tokens> seen(4);
  for (auto& each : seen) threads.emplace_back([&] { each = read(file, 0, 10'000); });
  for (auto& thread : threads) thread.join();
  for (const auto& each : seen) EXPECT_EQ(each, document);
}

TEST(TokenFile, RefusesTokensThatAreNotThere) {
  const Scratch scratch;
  write(scratch.path("a.tok"), {.vocabulary = 10}, {{1, 2, 3}});
  const TokenFile file(scratch.path("a.tok"));
  EXPECT_THAT(error_of([&] { (void)read(file, 2, 2); }),
              HasSubstr("has 3 tokens, but 2 from 2 on were asked for"));
  EXPECT_THAT(error_of([&] { (void)read(file, -1, 1); }), HasSubstr("1 from -1 on"));
  EXPECT_THAT(error_of([&] { file.tokens(INT64_MAX, INT64_MAX, nullptr); }), HasSubstr("has 3"));
}

TEST(TokenFile, VerifiesEveryByte) {
  const Scratch scratch;
  write(scratch.path("a.tok"), {.vocabulary = 65'536, .tokenizer_hash = 77}, {{1, 2}, {3}});
  const auto whole = read_bytes(scratch.path("a.tok"));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (i >= 56 && i < 64) continue;  // reserved
    auto damaged = whole;
    damaged[i] ^= 4;
    const auto path = scratch.write("b.tok", damaged);
    EXPECT_THROW(TokenFile(path).verify(), UsageError) << "byte " << i;
  }
}

TEST(TokenFileWriter, LeavesNothingWithoutFinish) {
  const Scratch scratch;
  scratch.write("a.tok", "old");
  {
    TokenFileWriter writer(scratch.path("a.tok"), {.vocabulary = 10});
    writer.add_document(Tokens{1, 2});
    EXPECT_EQ(scratch.names().size(), 2U);
  }
  EXPECT_THAT(scratch.names(), ElementsAre("a.tok"));
  EXPECT_EQ(read_bytes(scratch.path("a.tok")), "old");
}

TEST(TokenFileWriter, PutsTheWholeFileInPlaceOfTheOldOne) {
  const Scratch scratch;
  scratch.write("a.tok", "old");
  write(scratch.path("a.tok"), {.vocabulary = 10}, {{1, 2}});
  EXPECT_THAT(scratch.names(), ElementsAre("a.tok"));
  EXPECT_EQ(TokenFile(scratch.path("a.tok")).info().tokens, 2);
}

TEST(TokenFileWriter, MayBeOneOfTwoForOnePath) {
  const Scratch scratch;
  TokenFileWriter first(scratch.path("a.tok"), {.vocabulary = 10});
  TokenFileWriter second(scratch.path("a.tok"), {.vocabulary = 10});
  first.add_document(Tokens{1});
  second.add_document(Tokens{1, 2, 3});
  second.finish();
  first.finish();
  EXPECT_EQ(TokenFile(scratch.path("a.tok")).info().tokens, 1);
}

TEST(TokenFileWriter, AddsNothingOfADocumentThatDoesNotFit) {
  const Scratch scratch;
  TokenFileWriter writer(scratch.path("a.tok"), {.vocabulary = 10});
  for (const std::int64_t token : {-1, 10}) {
    EXPECT_EQ(error_of([&] {
                writer.add_document(Tokens{1, token});
              }),
              "a token must be from 0 to 9 of the vocabulary, got " + std::to_string(token));
  }
  writer.add_document(Tokens{4});
  writer.finish();
  EXPECT_THAT(read(TokenFile(scratch.path("a.tok")), 0, 1), ElementsAre(4));
  EXPECT_THAT(error_of([&] { writer.add_document(Tokens{1}); }), HasSubstr("after finish()"));
  EXPECT_THAT(error_of([&] { writer.finish(); }), HasSubstr("after finish()"));
}

TEST(TokenFileWriter, RefusesVocabulariesAndPlacesThatCannotBe) {
  const Scratch scratch;
  for (const std::int64_t vocabulary : {0L, -5L, (1L << 32) + 1}) {
    EXPECT_THAT(error_of([&] { TokenFileWriter(scratch.path("a"), {.vocabulary = vocabulary}); }),
                HasSubstr("got " + std::to_string(vocabulary)));
  }
  EXPECT_THROW(TokenFileWriter(scratch.path("no/a.tok"), {.vocabulary = 10}), IoError);
  EXPECT_THROW(write(scratch.path(), {.vocabulary = 10}, {{1}}), IoError);
}

}  // namespace
}  // namespace sheaf::data
