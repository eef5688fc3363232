#include "sheaf/data/token_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "data/scratch.h"
#include "support/on_ranks.h"

namespace sheaf::data {
namespace {

using sheaf::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Scratch;
using Tokens = std::vector<std::int64_t>;

void write(const std::string& path, const std::vector<Tokens>& documents, std::uint64_t hash = 1) {
  TokenFileWriter writer(path, {.vocabulary = 100, .tokenizer_hash = hash});
  for (const Tokens& document : documents) writer.add_document(document);
  writer.finish();
}

Tokens read(const TokenFiles& files, std::int64_t begin, std::int64_t count) {
  Tokens tokens(static_cast<std::size_t>(count));
  files.tokens(begin, count, tokens.data());
  return tokens;
}

void write_three(const Scratch& scratch) {
  write(scratch.path(shard_name(0, 3)), {{1, 2}, {3}});
  write(scratch.path(shard_name(1, 3)), {});
  write(scratch.path(shard_name(2, 3)), {{4, 5, 6}});
}

TEST(TokenFiles, FollowOneAnother) {
  const Scratch scratch;
  write_three(scratch);
  const TokenFiles files(scratch.path());
  EXPECT_EQ(files.info().tokens, 6);
  EXPECT_EQ(files.info().documents, 3);
  EXPECT_THAT(read(files, 0, 6), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(read(files, 2, 2), ElementsAre(3, 4));
  EXPECT_THAT(read(files, 3, 3), ElementsAre(4, 5, 6));
  EXPECT_THAT(read(files, 6, 0), ::testing::IsEmpty());
}

TEST(TokenFiles, SayWhereDocumentsBegin) {
  const Scratch scratch;
  write_three(scratch);
  const TokenFiles files(scratch.path());
  EXPECT_THAT(files.document_starts(0, 6), ElementsAre(0, 2, 3));
  EXPECT_THAT(files.document_starts(1, 2), ElementsAre(2));
  EXPECT_THAT(files.document_starts(3, 1), ElementsAre(3));
  EXPECT_THAT(files.document_starts(4, 2), ::testing::IsEmpty());
  EXPECT_THAT(files.document_starts(6, 0), ::testing::IsEmpty());
  EXPECT_THAT(error_of([&] { (void)files.document_starts(5, 2); }), HasSubstr("2 from 5"));
}

TEST(TokenFiles, BeginAnEmptyDocumentWithTheNext) {
  const Scratch scratch;
  write(scratch.path("a.tok"), {{}, {1, 2}, {}, {}, {3}, {}});
  EXPECT_THAT(TokenFiles(scratch.path()).document_starts(0, 3), ElementsAre(0, 2));
}

TEST(TokenFiles, MayBeOneFile) {
  const Scratch scratch;
  write(scratch.path("a.tok"), {{1, 2}});
  EXPECT_THAT(read(TokenFiles(scratch.path("a.tok")), 0, 2), ElementsAre(1, 2));
}

TEST(TokenFiles, MayHaveAnyNames) {
  const Scratch scratch;
  write(scratch.path("b.tok"), {{2}});
  write(scratch.path("a.tok"), {{1}});
  scratch.write("notes.txt", "not a token file");
  EXPECT_THAT(read(TokenFiles(scratch.path()), 0, 2), ElementsAre(1, 2));
}

TEST(TokenFiles, MissNoShard) {
  for (std::int64_t lost = 0; lost < 3; ++lost) {
    const Scratch scratch;
    write_three(scratch);
    std::filesystem::remove(scratch.path(shard_name(lost, 3)));
    EXPECT_THAT(error_of([&] { const TokenFiles files(scratch.path()); }),
                HasSubstr("a token file is missing: " + scratch.path(shard_name(lost, 3))));
  }
}

TEST(TokenFiles, AreOfOneTokenizer) {
  const Scratch scratch;
  write(scratch.path("a.tok"), {{1}}, 1);
  write(scratch.path("b.tok"), {{1}}, 2);
  EXPECT_THAT(error_of([&] { const TokenFiles files(scratch.path()); }),
              HasSubstr("another tokenizer"));
}

TEST(TokenFiles, RefuseTokensThatAreNotThere) {
  const Scratch scratch;
  write_three(scratch);
  const TokenFiles files(scratch.path());
  EXPECT_THAT(error_of([&] { (void)read(files, 5, 2); }), HasSubstr("6 tokens, but 2 from 5"));
  EXPECT_THAT(error_of([&] { (void)read(files, -1, 1); }), HasSubstr("1 from -1"));
}

}  // namespace
}  // namespace sheaf::data
