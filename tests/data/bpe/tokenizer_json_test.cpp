// What a tokenizer.json may say, and what is refused by name.
#include "data/bpe/tokenizer_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "data/bpe/bpe_tokenizer.h"
#include "sheaf/base/error.h"
#include "support/tokenizer_files.h"

namespace sheaf::data::bpe {
namespace {

using nlohmann::json;
using sheaf::testing::byte_level;
using sheaf::testing::sequence;
using sheaf::testing::split;
using ::testing::HasSubstr;

struct Refused {
  std::string name;
  std::function<void(json&)> change;
  std::vector<std::string> words;
};

std::ostream& operator<<(std::ostream& out, const Refused& each) { return out << each.name; }

Refused part(const std::string& name,
             const std::string& member,
             json value,
             std::vector<std::string> words) {
  return {name, [=](json& file) { file[member] = value; }, std::move(words)};
}

Refused model(const std::string& name,
              const std::string& member,
              json value,
              std::vector<std::string> words) {
  return {name, [=](json& file) { file["model"][member] = value; }, std::move(words)};
}

std::vector<Refused> refused_cases() {
  const json metaspace{{"type", "Metaspace"}, {"replacement", "_"}};
  return {
      model("WordPiece", "type", "WordPiece", {"model of type 'WordPiece'", "BPE is"}),
      model("Unigram", "type", "Unigram", {"model of type 'Unigram'"}),
      model("Dropout", "dropout", 0.1, {"dropout"}),
      model("Prefix", "continuing_subword_prefix", "##", {"continuing_subword_prefix"}),
      model("Suffix", "end_of_word_suffix", "</w>", {"end_of_word_suffix"}),
      model("NoVocabulary", "vocab", nullptr, {"model has no object 'vocab'"}),
      model("EmptyVocabulary", "vocab", json::object(), {"the vocabulary is empty"}),
      model("NoMerges", "merges", nullptr, {"model has no list 'merges'"}),
      model("MergeOfThree", "merges", {"a b c"}, {"model.merges[0] must be two tokens"}),
      model("MergeOfOne", "merges", {"ab"}, {"model.merges[0]"}),
      model("MergeIsANumber", "merges", {1}, {"model.merges[0]"}),
      model("MergeWithoutToken", "merges", {"zz yy"}, {"merge 0", "not in the vocabulary", "'zz'"}),
      model("MergeWithoutResult", "merges", {"z q"}, {"merge 0", "'zq'"}),
      {"NegativeId",
       [](json& file) { file["model"]["vocab"]["z"] = -1; },
       {"model.vocab", "at least 0"}},
      {"FractionalId", [](json& file) { file["model"]["vocab"]["z"] = 1.5; }, {"model.vocab"}},
      {"HugeId",
       [](json& file) { file["model"]["vocab"]["z"] = 1ULL << 40; },
       {"below 4194304", "1099511627776"}},
      {"SameId",
       [](json& file) { file["model"]["vocab"]["z"] = 5; },
       {"two tokens have the number 5", "'z'"}},
      {"NoByteToken",
       [](json& file) { file["model"]["vocab"].erase("<0x41>"); },
       {"byte_fallback, but no token <0x41>"}},
      part("NoModel", "model", nullptr, {"has no 'model'"}),
      part("ModelIsAList", "model", json::array(), {"model must be an object, got array"}),
      part("Metaspace",
           "pre_tokenizer",
           metaspace,
           {"pre_tokenizer of type 'Metaspace'", "ByteLevel, Split"}),
      part("BertPreTokenizer",
           "pre_tokenizer",
           {{"type", "BertPreTokenizer"}},
           {"'BertPreTokenizer'"}),
      part("NoType", "pre_tokenizer", json::object(), {"pre_tokenizer has no 'type'"}),
      part("AfterByteLevel",
           "pre_tokenizer",
           sequence("pretokenizers", {byte_level(false, true), {{"type", "Digits"}}}),
           {"pre_tokenizer.pretokenizers[1]", "after ByteLevel"}),
      part("BadBehavior",
           "pre_tokenizer",
           split({{"String", "a"}}, "Sometimes"),
           {"behavior 'Sometimes'"}),
      part("EmptyPattern",
           "pre_tokenizer",
           split({{"String", ""}}, "Isolated"),
           {"pattern is empty"}),
      part("BadPattern",
           "pre_tokenizer",
           split({{"Regex", "(a"}}, "Isolated"),
           {"cannot be read", "'(a'"}),
      part("Lowercase",
           "normalizer",
           {{"type", "Lowercase"}},
           {"normalizer of type 'Lowercase'", "NFC"}),
      part("Precompiled", "normalizer", {{"type", "Precompiled"}}, {"'Precompiled'"}),
      part("ReplaceByRegex",
           "normalizer",
           {{"type", "Replace"}, {"pattern", {{"Regex", "a"}}}, {"content", "b"}},
           {"regular expression"}),
      part("WordPieceDecoder", "decoder", {{"type", "WordPiece"}}, {"decoder of type 'WordPiece'"}),
      part(
          "ByteLevelDecoderOnly", "decoder", byte_level(false, true), {"the pre_tokenizer is not"}),
      part("Roberta",
           "post_processor",
           {{"type", "RobertaProcessing"}},
           {"post_processor of type 'RobertaProcessing'"}),
      part("UnknownFrame",
           "post_processor",
           {{"type", "TemplateProcessing"},
            {"single", {{{"SpecialToken", {{"id", "<x>"}}}}}},
            {"special_tokens", json::object()}},
           {"has no '<x>'"}),
      part("AddedIsNoList", "added_tokens", "x", {"must have a list 'added_tokens'"}),
      part("AddedWithoutId", "added_tokens", {{{"content", "x"}}}, {"added_tokens[0] has no 'id'"}),
      part("AddedIsEmpty",
           "added_tokens",
           {{{"id", 400}, {"content", ""}}},
           {"added token 400 is empty"}),
      part("AddedTakesANumber",
           "added_tokens",
           {{{"id", 0}, {"content", "new"}}},
           {"'new'", "of another token"}),
      part("AddedHasTwoNumbers",
           "added_tokens",
           {{{"id", 9}, {"content", "<s>"}}},
           {"'<s>'", "9", "1 in the vocabulary"}),
      part("FlagIsText",
           "added_tokens",
           {{{"id", 400}, {"content", "x"}, {"special", "yes"}}},
           {"'special' true or false, got string"}),
  };
}

const auto kName = [](const auto& info) { return info.param.name; };
class RefusedTokenizer : public ::testing::TestWithParam<Refused> {};
INSTANTIATE_TEST_SUITE_P(Files, RefusedTokenizer, ::testing::ValuesIn(refused_cases()), kName);

TEST_P(RefusedTokenizer, IsNamedInOneSentence) {
  json file = sheaf::testing::byte_fallback_json();
  GetParam().change(file);
  try {
    const BpeTokenizer tokenizer(read_tokenizer_json(file));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const UsageError& error) {
    for (const auto& word : GetParam().words) EXPECT_THAT(error.what(), HasSubstr(word));
    EXPECT_THAT(error.what(), ::testing::Not(HasSubstr("\n")));
  }
}

TEST(TokenizerJson, ReadsMergesAsPairsToo) {
  json file = sheaf::testing::byte_fallback_json();
  const auto before = hash_of(read_tokenizer_json(file));
  json pairs = json::array();
  for (const auto& merge : file["model"]["merges"]) {
    const auto line = merge.get<std::string>();
    const auto space = line.find(' ');
    pairs.push_back(json::array({line.substr(0, space), line.substr(space + 1)}));
  }
  file["model"]["merges"] = pairs;
  EXPECT_EQ(hash_of(read_tokenizer_json(file)), before);
}

TEST(TokenizerJson, EndsSequencesInSequences) {
  json file = sheaf::testing::byte_fallback_json();
  json part{{"type", "NFC"}};
  for (int i = 0; i < 20; ++i) part = sequence("normalizers", {part});
  file["normalizer"] = part;
  EXPECT_THROW((void)read_tokenizer_json(file), UsageError);
}

}  // namespace
}  // namespace sheaf::data::bpe
