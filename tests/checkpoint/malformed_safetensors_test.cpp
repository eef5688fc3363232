// Files that cannot be: each is refused with one sentence that names the file and what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/raw_file.h"
#include "sheaf/base/error.h"
#include "sheaf/checkpoint/safetensors.h"
#include "support/temporary_folder.h"

namespace sheaf::checkpoint {
namespace {

using ::testing::HasSubstr;
using testing::raw_file;
using testing::raw_length;
using testing::TemporaryFolder;

struct Case {
  std::string name;
  /// The file's bytes.
  std::string bytes;
  /// What the sentence must contain.
  std::string says;
};

std::ostream& operator<<(std::ostream& out, const Case& each) { return out << each.name; }

const std::string kEight(8, 'v');
const std::string kGood = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

/// A file whose only tensor is this.
Case tensor(std::string name, const std::string& entry, std::string says) {
  return {std::move(name), raw_file("{\"a\":" + entry + "}", kEight), std::move(says)};
}

/// A file with this header.
Case header(std::string name, const std::string& text, std::string says) {
  return {std::move(name), raw_file(text, kEight), std::move(says)};
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::vector<Case> length_cases() {
  const std::string whole = raw_file(kGood, kEight);
  return {
      {"Empty", "", "too short"},
      {"OneByte", "\x01", "too short"},
      {"SevenBytes", std::string(7, '\0'), "got 7"},
      {"OnlyALength", raw_length(60), "cut short"},
      {"LengthZero", raw_length(0) + kGood, "between 2 and 100000000, got 0"},
      {"LengthOne", raw_length(1) + "{", "got 1"},
      {"LengthBeyondTheFile", raw_length(1000) + kGood + kEight, "cut short"},
      {"LengthOneTooLong", raw_length(kGood.size() + 9) + kGood + kEight, "cut short"},
      {"LengthOneTooShort", raw_length(kGood.size() - 1) + kGood + kEight, "not JSON"},
      {"LengthIntoTheValues", raw_length(kGood.size() + 1) + kGood + kEight, "not JSON"},
      {"LengthBeyondTheLimit", raw_length(100'000'001) + kGood, "got 100000001"},
      {"LengthHuge", raw_length(~0ULL) + kGood, "got 18446744073709551615"},
      {"LengthThatWrapsAround", raw_length(~0ULL - 7) + kGood, "between 2 and"},
      {"LengthNegative", raw_length(1ULL << 63) + kGood, "between 2 and"},
      {"CutInTheHeader", whole.substr(0, 30), "cut short"},
      {"CutInTheValues", whole.substr(0, whole.size() - 1), "cut short"},
      {"CutBeforeTheValues", whole.substr(0, whole.size() - 8), "cut short"},
      {"OneByteMore", whole + "x", "9 bytes behind its header"},
      {"Text", "Once upon a time there was a model that had no weights.", "between 2 and"},
      {"Zip", "PK\x03\x04\x14\x01\x08\x08 pytorch_model", "between 2 and"},
      {"GitLfs", "version https://git-lfs.github.com/spec/v1\noid sha256:1", "between 2 and"},
  };
}

std::vector<Case> json_cases() {
  return {
      header("BeginsWithASpace", " " + kGood, "does not begin with {"),
      header("BeginsWithAMark", "\xEF\xBB\xBF" + kGood, "does not begin with {"),
      header("IsAList", "[1,2]", "does not begin with {"),
      header("IsANumber", "12345", "does not begin with {"),
      header("IsNull", "null", "does not begin with {"),
      header("NeverEnds", R"({"a":{"dtype":"F32")", "not JSON"),
      header("EndsInAText", R"({"a)", "not JSON"),
      header("EndsInAnEscape", R"({"a\)", "not JSON"),
      header("IsFollowedByMore", kGood + "{}", "not JSON"),
      header("IsFollowedByZeros", kGood + std::string(2, '\0'), "not JSON"),
      header("IsFollowedByAZeroAndMore", kGood + std::string("\0{", 2), "not JSON"),
      header("HasAComma", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],}})", "not JSON"),
      header("HasAComment", "{/* a */}", "not JSON"),
      header("HasSingleQuotes", "{'a':{}}", "not JSON"),
      header("HasABareName", "{a:{}}", "not JSON"),
      header("HasBrokenUtf8", "{\"\xff\":{}}", "not JSON"),
      header("HasAnOverlongByte", "{\"\xC0\x80\":{}}", "not JSON"),
      header("HasHalfAPair", R"({"\ud800":{}})", "not JSON"),
      header("HasAWrongEscape", R"({"\q":{}})", "not JSON"),
      header("HasATabInAName", "{\"a\tb\":{}}", "not JSON"),
      header("IsVeryDeep", "{\"a\":" + repeated("[", 100'000), "'a' must be an object"),
      header("HasVeryDeepObjects", repeated("{\"a\":", 100'000), "must have dtype"),
      header("HasANumberTooLarge", R"({"a":1e999})", "not JSON"),
      header("HasNotANumber", R"({"a":NaN})", "not JSON"),
      header("HasOneNameTwice",
             R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
             R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
             "two entries named 'a'"),
      header("HasOneNameTwiceByEscape",
             R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
             R"("\u0061":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
             "two entries named 'a'"),
      header("HasALongName", "{\"" + std::string(4097, 'n') + "\":{}}", "at most 4096 bytes"),
      header("HasTwoMetadata", R"({"__metadata__":{},"__metadata__":{}})", "two entries"),
      header("HasMetadataThatIsAText", R"({"__metadata__":"pt"})", "object of texts, got 'pt'"),
      header("HasMetadataThatIsAList", R"({"__metadata__":[]})", "object of texts, got a list"),
      header("HasANumberInMetadata", R"({"__metadata__":{"n":1}})", "'n' in __metadata__"),
      header("HasNullInMetadata", R"({"__metadata__":{"n":null}})", "got null"),
      header("HasAnObjectInMetadata", R"({"__metadata__":{"n":{}}})", "got an object"),
      header("HasAListInMetadata", R"({"__metadata__":{"n":[]}})", "got a list"),
      header("HasOneTextTwice", R"({"__metadata__":{"n":"1","n":"2"}})", "two texts named 'n'"),
  };
}

std::vector<Case> tensor_cases() {
  return {
      tensor("IsNull", "null", "'a' must be an object, got null"),
      tensor("IsANumber", "8", "'a' must be an object, got 8"),
      tensor("IsAText", "\"F32\"", "got 'F32'"),
      tensor("IsAList", "[0,8]", "got a list"),
      tensor("IsTrue", "true", "got true"),
      tensor("HasNothing", "{}", "has no dtype"),
      tensor("HasNoType", R"({"shape":[2],"data_offsets":[0,8]})", "has no dtype"),
      tensor("HasNoShape", R"({"dtype":"F32","data_offsets":[0,8]})", "has no shape"),
      tensor("HasNoOffsets", R"({"dtype":"F32","shape":[2]})", "has no data_offsets"),
      tensor("HasAnotherField",
             R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"device":"cpu"})",
             "got 'device'"),
      tensor("HasAFieldTwice",
             R"({"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]})",
             "two fields dtype"),
      tensor("HasAnUnknownType", R"({"dtype":"F33","shape":[2],"data_offsets":[0,8]})", "'F33'"),
      tensor("HasALowerCaseType", R"({"dtype":"f32","shape":[2],"data_offsets":[0,8]})", "'f32'"),
      tensor("HasAComplexType", R"({"dtype":"C64","shape":[1],"data_offsets":[0,8]})", "'C64'"),
      tensor("HasNoTypeName", R"({"dtype":"","shape":[2],"data_offsets":[0,8]})", "got ''"),
      tensor("HasANumberForAType", R"({"dtype":1,"shape":[2],"data_offsets":[0,8]})", "be a text"),
      tensor("HasAListForAType", R"({"dtype":["F32"]})", "must be a text, got a list"),
      tensor("HasANumberForAShape", R"({"dtype":"F32","shape":2})", "must be a list, got 2"),
      tensor("HasATextForAShape", R"({"dtype":"F32","shape":"[2]"})", "must be a list"),
      tensor("HasNullForAShape", R"({"dtype":"F32","shape":null})", "got null"),
      tensor("HasAnObjectForAShape", R"({"dtype":"F32","shape":{}})", "got an object"),
      tensor("HasANegativeSize", R"({"dtype":"F32","shape":[-2]})", "from 0 on, got -2"),
      tensor("HasABrokenSize", R"({"dtype":"F32","shape":[2.0]})", "got 2.0"),
      tensor("HasATextForASize", R"({"dtype":"F32","shape":["2"]})", "got '2'"),
      tensor("HasAShapeInAShape", R"({"dtype":"F32","shape":[[2]]})", "got a list"),
      tensor("HasASizeBeyond63Bits",
             R"({"dtype":"F32","shape":[9223372036854775808]})",
             "got 9223372036854775808"),
      tensor("HasASizeBeyond64Bits",
             R"({"dtype":"F32","shape":[18446744073709551616]})",
             "whole numbers from 0 on"),
      tensor("HasTooManyDimensions",
             R"({"dtype":"F32","shape":[2)" + repeated(",1", 64) + R"(],"data_offsets":[0,8]})",
             "at most 64 dimensions"),
      tensor("HasAProductThatWrapsAround",
             R"({"dtype":"F32","shape":[4611686018427387905,2],"data_offsets":[0,8]})",
             "does not have the 8 bytes"),
      tensor("HasBytesThatWrapAround",
             R"({"dtype":"F32","shape":[4611686018427387906],"data_offsets":[0,8]})",
             "does not have the 8 bytes"),
      tensor("HidesAProductBehindAZero",
             R"({"dtype":"F32","shape":[9223372036854775807,9223372036854775807,0],)"
             R"("data_offsets":[0,0]})",
             "does not have the 0 bytes"),
      tensor("HasFewerBytes", R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})", "shape [3]"),
      tensor("HasMoreBytes", R"({"dtype":"F32","shape":[1],"data_offsets":[0,8]})", "shape [1]"),
      tensor("HasAnotherWidth", R"({"dtype":"F64","shape":[2],"data_offsets":[0,8]})", "F64"),
      tensor("IsAScalarOfEight", R"({"dtype":"F32","shape":[],"data_offsets":[0,8]})", "shape []"),
      tensor("HasOneOffset", R"({"dtype":"F32","shape":[2],"data_offsets":[8]})", "two whole"),
      tensor("HasNoOffset", R"({"dtype":"F32","shape":[2],"data_offsets":[]})", "got 0"),
      tensor("HasThreeOffsets", R"({"dtype":"F32","shape":[2],"data_offsets":[0,8,8]})", "two"),
      tensor("HasANumberForOffsets", R"({"dtype":"F32","data_offsets":8})", "must be a list"),
      tensor("HasATextForAnOffset", R"({"dtype":"F32","data_offsets":["0",8]})", "got '0'"),
      tensor("HasABrokenOffset", R"({"dtype":"F32","data_offsets":[0,8.5]})", "got 8.5"),
      tensor("HasANegativeOffset", R"({"dtype":"F32","data_offsets":[-8,0]})", "got -8"),
      tensor("EndsBeforeItBegins",
             R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})",
             "end before they begin: 8 to 0"),
      tensor("BeginsLate",
             R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})",
             "must begin where the tensor before it ends, at 0, got 4"),
      tensor("EndsEarly",
             R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})",
             "its tensors have only 4"),
      tensor("LiesBehindTheFile",
             R"({"dtype":"F32","shape":[2],"data_offsets":[1000,1008]})",
             "at 0, got 1000"),
      tensor("EndsBehindTheFile",
             R"({"dtype":"F32","shape":[4],"data_offsets":[0,16]})",
             "cut short: 'a' ends at 16"),
      tensor("EndsAtTheLargestNumber",
             R"({"dtype":"U8","shape":[9223372036854775807],)"
             R"("data_offsets":[0,9223372036854775807]})",
             "cut short"),
      header("Overlap",
             R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
             R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
             "'b' must begin where the tensor before it ends, at 8, got 4"),
      header("ShareTheirBytes",
             R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
             R"("b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
             "'b' must begin"),
      header("LeaveAHole",
             R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
             R"("b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
             "at 3, got 4"),
      header("HaveSumsThatWrapAround",
             R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},)"
             R"("b":{"dtype":"U8","shape":[9223372036854775807,2],)"
             R"("data_offsets":[8,18446744073709551615]}})",
             "'b'"),
      header("AreNone", "{}", "8 bytes behind its header, its tensors have only 0"),
  };
}

class MalformedSafetensors : public ::testing::TestWithParam<Case> {};
const auto kName = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Length, MalformedSafetensors, ::testing::ValuesIn(length_cases()), kName);
INSTANTIATE_TEST_SUITE_P(Json, MalformedSafetensors, ::testing::ValuesIn(json_cases()), kName);
INSTANTIATE_TEST_SUITE_P(Tensor, MalformedSafetensors, ::testing::ValuesIn(tensor_cases()), kName);

TEST_P(MalformedSafetensors, AreRefusedInOneSentence) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.safetensors", GetParam().bytes);
  try {
    const SafetensorsFile file(path);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr(GetParam().says));
    EXPECT_THAT(error.what(), ::testing::StartsWith(path + ": "));
    EXPECT_THAT(error.what(), ::testing::Not(HasSubstr("\n")));
  }
}

TEST(MalformedSafetensorsFiles, AreMoreThanAHundred) {
  EXPECT_GE(length_cases().size() + json_cases().size() + tensor_cases().size(), 100U);
}

TEST(MalformedSafetensorsFiles, AreGoodBeforeTheyAreSpoilt) {
  const TemporaryFolder folder;
  EXPECT_EQ(SafetensorsFile(folder.write("a", raw_file(kGood, kEight))).tensors().size(), 1U);
  EXPECT_EQ(SafetensorsFile(folder.write("b", raw_file("{}"))).tensors().size(), 0U);
}

TEST(MalformedSafetensorsFiles, MayNotEvenBeFiles) {
  const TemporaryFolder folder;
  EXPECT_THROW(SafetensorsFile(folder.path("no")), UsageError);
  EXPECT_THROW(SafetensorsFile(folder.path()), UsageError);
  EXPECT_THROW(SafetensorsFile("/dev/null"), UsageError);
  std::filesystem::create_symlink("loop", folder.path("loop"));
  EXPECT_THROW(SafetensorsFile(folder.path("loop")), IoError);
}

}  // namespace
}  // namespace sheaf::checkpoint
