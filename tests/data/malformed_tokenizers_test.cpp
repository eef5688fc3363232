// Good files with something changed, at random but the same in every run: each is read as what it
// has become, or refused in one sentence. The sanitizers watch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "data/scratch.h"
#include "sheaf/base/error.h"
#include "sheaf/data/token_files.h"
#include "sheaf/data/tokenizer.h"
#include "sheaf/data/tokenizer_training.h"
#include "support/tokenizer_files.h"

namespace sheaf::data {
namespace {

using nlohmann::json;
using testing::read_bytes;
using testing::Scratch;

constexpr std::string_view kSample = "the cat's 123 \u00e9\u4f60\n\n  <|endoftext|> \xff end";

/// One way to spoil the bytes of a file.
std::string spoiled(std::string bytes, std::mt19937& random) {
  if (bytes.empty()) return bytes;
  const std::size_t at = random() % bytes.size();
  switch (random() % 6) {
    case 0:
      bytes.resize(at);
      break;
    case 1:
      bytes[at] = static_cast<char>(random());
      break;
    case 2:
      bytes.erase(at, random() % 16 + 1);
      break;
    case 3:
      bytes.insert(at, std::string(random() % 16 + 1, static_cast<char>(random())));
      break;
    case 4:
      bytes[at] ^= static_cast<char>(1 << random() % 8);
      break;
    default:
      bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 64));
  }
  return bytes;
}

json odd_value(std::mt19937& random) {
  const std::vector<json> values = {nullptr,
                                    true,
                                    -1,
                                    0,
                                    3.5,
                                    1ULL << 63,
                                    "",
                                    "x",
                                    "Sequence",
                                    "ByteLevel",
                                    std::string(300, 'a'),
                                    json::array(),
                                    json::object(),
                                    json::array({1, "a", nullptr}),
                                    {{"type", "Split"}},
                                    {{"Regex", "(a+)+"}},
                                    {{"Regex", "[^"}}};
  return values[random() % values.size()];
}

/// Changes one member somewhere in a tree of JSON.
void spoil_member(json& tree, std::mt19937& random) {
  json* place = &tree;
  for (int depth = 0; depth < 8 && !place->empty() && place->is_structured(); ++depth) {
    auto member = place->begin();
    std::advance(member, static_cast<std::ptrdiff_t>(random() % place->size()));
    place = &*member;
    if (random() % 3 == 0) break;
  }
  *place = odd_value(random);
}

/// Made once for all tests.
const std::string& byte_level_file() {
  static const std::string kFile = [] {
    WordCounts words(WordPattern::llama3);
    for (int i = 0; i < 5; ++i) words.add("the cat sat on the mat, it's the cat's mat 123 123");
    return train_tokenizer(words, {.size = 290, .pattern = WordPattern::llama3});
  }();
  return kFile;
}

/// Reads a tokenizer and uses it; a UsageError is an answer too, in one line.
void use_tokenizer(const std::string& path) {
  try {
    const auto tokenizer = open_tokenizer(path);
    const auto tokens = tokenizer->encode(kSample);
    (void)tokenizer->decode(tokens);
    (void)tokenizer->complete(tokens);
    (void)tokenizer->find("<|endoftext|>");
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), ::testing::Not(::testing::HasSubstr("\n")));
    EXPECT_GT(std::string_view(error.what()).size(), 10U);
  }
}

class Malformed : public ::testing::TestWithParam<unsigned> {
 protected:
  Scratch scratch_;
  std::mt19937 random_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Seeds, Malformed, ::testing::Range(0U, 120U));

TEST_P(Malformed, BytesOfATokenizerFileAreReadOrRefused) {
  const std::string good =
      GetParam() % 2 == 0 ? byte_level_file() : sheaf::testing::byte_fallback_json().dump();
  use_tokenizer(scratch_.write("tokenizer.json", spoiled(good, random_)));
}

TEST_P(Malformed, MembersOfATokenizerFileAreReadOrRefused) {
  json file =
      GetParam() % 2 == 0 ? json::parse(byte_level_file()) : sheaf::testing::byte_fallback_json();
  // Vocabulary and merges are most of a file; what else it says should be spoiled as often.
  if (GetParam() % 3 == 0) {
    spoil_member(file, random_);
  } else {
    json model = std::move(file["model"]);
    file.erase("model");
    spoil_member(file, random_);
    if (file.is_object()) file["model"] = std::move(model);
  }
  use_tokenizer(scratch_.write("tokenizer.json", file.dump()));
}

TEST_P(Malformed, Gpt2sFilesAreReadOrRefused) {
  const json model = json::parse(byte_level_file())["model"];
  std::string merges = "#version: 0.2\n";
  for (const auto& merge : model["merges"]) merges += merge.get<std::string>() + "\n";
  const bool first = GetParam() % 2 == 0;
  const std::string vocabulary = model["vocab"].dump();
  scratch_.write("vocab.json", first ? spoiled(vocabulary, random_) : vocabulary);
  scratch_.write("merges.txt", first ? merges : spoiled(merges, random_));
  use_tokenizer(scratch_.path());
}

TEST_P(Malformed, TokenFilesAreReadOrRefused) {
  TokenFileWriter writer(scratch_.path("good.tok"), {.vocabulary = 300, .tokenizer_hash = 9});
  for (std::int64_t i = 0; i < 4; ++i) writer.add_document(std::vector<std::int64_t>(7, i));
  writer.finish();
  const auto path =
      scratch_.write("a.tok", spoiled(read_bytes(scratch_.path("good.tok")), random_));
  try {
    const TokenFiles files(path);
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(files.info().tokens));
    files.tokens(0, files.info().tokens, tokens.data());
    for (const TokenFile& file : files.files()) file.verify();
    // Only the reserved bytes, or nothing at all, can have changed.
    EXPECT_EQ(read_bytes(path).substr(0, 56), read_bytes(scratch_.path("good.tok")).substr(0, 56));
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("a.tok"));
  }
}

TEST(GoodTokenizers, AreNotRefusedByWhatTheseTestsDo) {
  const Scratch scratch;
  for (const auto& file : {byte_level_file(), sheaf::testing::byte_fallback_json().dump()}) {
    const auto tokenizer = open_tokenizer(scratch.write("tokenizer.json", file));
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(kSample)), kSample);
  }
}

}  // namespace
}  // namespace sheaf::data
