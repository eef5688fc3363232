#include "sheaf/data/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "data/scratch.h"
#include "sheaf/base/error.h"
#include "sheaf/data/byte_tokenizer.h"
#include "sheaf/data/stories.h"
#include "sheaf/data/token_files.h"
#include "support/on_ranks.h"

namespace sheaf::data {
namespace {

using sheaf::testing::error_of;
using ::testing::ElementsAre;
using testing::gzipped;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Scratch;

PackOptions packing(const Scratch& scratch, std::vector<std::string> paths) {
  return {.input = {.paths = std::move(paths), .threads = 2},
          .tokenizer = std::make_shared<ByteTokenizer>(),
          .out = scratch.path("out")};
}

/// Returns the documents of what was packed as bytes.
std::vector<std::string> documents_in(const std::string& path) {
  std::vector<std::string> documents;
  const TokenFiles files(path);
  for (const TokenFile& file : files.files()) {
    file.verify();
    const auto starts = file.document_starts();
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const auto begin = static_cast<std::int64_t>(starts[i]);
      const auto end =
          i + 1 < starts.size() ? static_cast<std::int64_t>(starts[i + 1]) : file.info().tokens;
      std::vector<std::int64_t> tokens(static_cast<std::size_t>(end - begin));
      file.tokens(begin, end - begin, tokens.data());
      documents.push_back(ByteTokenizer().decode(tokens));
    }
  }
  return documents;
}

TEST(Pack, SplitsTextAtTheSeparator) {
  const Scratch scratch;
  const auto summary =
      pack(packing(scratch,
                   {scratch.write("a", "one<|endoftext|>two\n<|endoftext|>\n<|endoftext|>"),
                    scratch.write("b", "three")}));
  EXPECT_THAT(documents_in(scratch.path("out")), ElementsAre("one", "two\n", "three"));
  EXPECT_EQ(summary.documents, 3);
  EXPECT_EQ(summary.tokens, 12);
  EXPECT_EQ(summary.text_bytes, 12U);
  EXPECT_EQ(summary.shards, 1);
  EXPECT_EQ(summary.end_token, std::nullopt);
}

TEST(Pack, TakesAFileForOneDocumentWithoutASeparator) {
  const Scratch scratch;
  auto options = packing(scratch, {scratch.write("a", "one<|endoftext|>two")});
  options.input.separator = "";
  pack(options);
  EXPECT_THAT(documents_in(scratch.path("out")), ElementsAre("one<|endoftext|>two"));
}

TEST(Pack, FindsSeparatorsThatLieAcrossWhatIsReadAtOnce) {
  const Scratch scratch;
  const std::string separator = "<|endoftext|>";
  for (const std::size_t before : {0U, 1U, 6U, 12U, 13U, 14U}) {
    const std::string first((1 << 20) - before, 'x');
    std::filesystem::remove_all(scratch.path("out"));
    pack(packing(scratch, {scratch.write("a", first + separator + "end")}));
    EXPECT_THAT(documents_in(scratch.path("out")), ElementsAre(first, "end"));
  }
}

TEST(Pack, ReadsJsonLinesAndPackedFiles) {
  const Scratch scratch;
  auto options = packing(
      scratch,
      {scratch.write("a.jsonl",
                     "{\"body\": \"one\\n\"}\n\n{\"id\": 2, \"body\": \"<|endoftext|>\"}"),
       scratch.write("b.jsonl.gz", gzipped("{\"body\": \" \"}\n{\"body\": \"\\u00e9\"}\n"))});
  options.input.field = "body";
  pack(options);
  EXPECT_THAT(documents_in(scratch.path("out")), ElementsAre("one\n", "<|endoftext|>", "\u00e9"));
}

TEST(Pack, KeepsTheOrderWithAnyNumberOfThreads) {
  const Scratch scratch;
  std::string text;
  std::vector<std::string> expected;
  for (std::int64_t i = 0; i < 5000; ++i) {
    expected.push_back(story(1, i));
    text += expected.back() + "<|endoftext|>";
  }
  const auto path = scratch.write("a", text);
  for (const int threads : {1, 2, 7}) {
    std::filesystem::remove_all(scratch.path("out"));
    auto options = packing(scratch, {path});
    options.input.threads = threads;
    options.shard_tokens = 100'000;
    const auto summary = pack(options);
    EXPECT_GT(summary.shards, 2);
    EXPECT_TRUE(documents_in(scratch.path("out")) == expected);
  }
}

TEST(Pack, PutsTheSeparatorsTokenAfterEachDocument) {
  const Scratch scratch;
  auto options = packing(scratch, {scratch.write("a", "Hello<|endoftext|>Hello world")});
  options.tokenizer = open_tokenizer(SHEAF_GPT2);
  EXPECT_EQ(pack(options).end_token, 50'256);
  std::vector<std::int64_t> tokens(5);
  const TokenFiles files(scratch.path("out"));
  EXPECT_EQ(files.info().tokenizer_hash, options.tokenizer->hash());
  EXPECT_EQ(files.info().bytes_per_token, 2U);
  files.tokens(0, 5, tokens.data());
  EXPECT_THAT(tokens, ElementsAre(15496, 50256, 15496, 995, 50256));
}

TEST(Pack, NeverPutsADocumentIntoTwoShards) {
  const Scratch scratch;
  auto options = packing(scratch, {scratch.write("a", "1234567890||ab||cd||ef||g")});
  options.input.separator = "||";
  options.shard_tokens = 4;
  EXPECT_EQ(pack(options).shards, 3);
  EXPECT_THAT(documents_in(scratch.path("out")), ElementsAre("1234567890", "ab", "cd", "ef", "g"));
}

TEST(Pack, LeavesNothingBehindWhenItFails) {
  const Scratch scratch;
  const auto input = scratch.write("a.jsonl", "{\"text\": \"one\"}\n{\"text\": 2}\n");
  EXPECT_THAT(error_of([&] { pack(packing(scratch, {input})); }),
              HasSubstr("a.jsonl, line 2: the object has no text 'text'"));
  EXPECT_THAT(scratch.names(), ElementsAre("a.jsonl"));
}

TEST(Pack, LeavesNothingBehindWhenItIsStopped) {
  const Scratch scratch;
  auto options = packing(scratch, {scratch.write("a", stories(1, 2'000'000))});
  options.input.separator = "\n\n";
  int asked = 0;
  options.input.should_stop = [&] { return ++asked == 3; };
  EXPECT_THAT(error_of([&] { pack(options); }), HasSubstr("interrupted"));
  EXPECT_THAT(scratch.names(), ElementsAre("a"));
}

TEST(Pack, SaysHowFarItHasCome) {
  const Scratch scratch;
  auto options = packing(scratch, {scratch.write("a", stories(1, 2'000'000))});
  options.input.separator = "\n\n";
  std::vector<ReadProgress> seen;
  options.input.progress = [&](const ReadProgress& progress) { seen.push_back(progress); };
  const auto summary = pack(options);
  ASSERT_GT(seen.size(), 3U);
  EXPECT_EQ(seen.back().bytes_read, 2'000'000U);
  EXPECT_EQ(seen.back().bytes, 2'000'000U);
  EXPECT_EQ(seen.back().tokens, summary.tokens);
  EXPECT_LT(seen.front().tokens, summary.tokens);
}

TEST(Pack, RefusesWhatCannotBe) {
  const Scratch scratch;
  const auto good = scratch.write("good", "text");
  const auto refused = [&](const std::function<void(PackOptions&)>& change) {
    auto options = packing(scratch, {good});
    change(options);
    return error_of([&] { pack(options); });
  };
  EXPECT_THAT(refused([](auto& o) { o.input.paths = {}; }), HasSubstr("no files"));
  EXPECT_THAT(refused([](auto& o) { o.input.paths.push_back("/none"); }), HasSubstr("/none"));
  EXPECT_THAT(refused([](auto& o) { o.tokenizer = nullptr; }), HasSubstr("tokenizer"));
  EXPECT_THAT(refused([](auto& o) { o.out = ""; }), HasSubstr("folder"));
  EXPECT_THAT(refused([](auto& o) { o.end_token = "<end>"; }), HasSubstr("no token '<end>'"));
  EXPECT_THAT(refused([](auto& o) { o.shard_tokens = 0; }), HasSubstr("got 0"));
  EXPECT_THAT(refused([&](auto& o) { o.out = scratch.path(); }), HasSubstr("something already"));
  EXPECT_THAT(refused([&](auto& o) { o.input.paths = {scratch.write("blank", " \n")}; }),
              HasSubstr("no documents"));
}

TEST(Pack, FillsAnEmptyFolder) {
  const Scratch scratch;
  std::filesystem::create_directory(scratch.path("out"));
  pack(packing(scratch, {scratch.write("a", "text")}));
  EXPECT_THAT(documents_in(scratch.path("out") + "/"), ElementsAre("text"));
}

TEST(Pack, FillsAnEmptyFolderByAnyOfItsNames) {
  const Scratch scratch;
  std::filesystem::create_directory(scratch.path("out"));
  std::filesystem::create_directory_symlink(scratch.path("out"), scratch.path("link"));
  const std::string text = scratch.write("a", "text");
  for (const std::string name : {"out/.", "link"}) {
    PackOptions options = packing(scratch, {text});
    options.out = scratch.path(name);
    pack(options);
    EXPECT_THAT(documents_in(scratch.path("out") + "//"), ElementsAre("text"));
    std::filesystem::remove_all(scratch.path("out"));
    std::filesystem::create_directory(scratch.path("out"));
  }
}

TEST(CountWords, IsTheSameWithAnyNumberOfThreads) {
  const Scratch scratch;
  const auto path = scratch.write("a", stories(1, 2'000'000));
  const auto counted = [&](int threads) {
    return count_words({.paths = {path}, .separator = "\n\n", .threads = threads},
                       WordPattern::gpt2)
        .sorted();
  };
  EXPECT_GT(counted(1).size(), 20U);
  EXPECT_EQ(counted(1), counted(4));
}

}  // namespace
}  // namespace sheaf::data
