// Index files that cannot be: each is refused with one sentence that names the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sheaf/base/error.h"
#include "sheaf/checkpoint/weights.h"
#include "support/safetensors.h"
#include "support/temporary_folder.h"

namespace sheaf::checkpoint {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

struct Case {
  std::string name;
  std::string text;
  std::string says;
};

std::ostream& operator<<(std::ostream& out, const Case& each) { return out << each.name; }

/// An index of these files.
Case map(std::string name, const std::string& weights, std::string says) {
  return {std::move(name), "{\"weight_map\":" + weights + "}", std::move(says)};
}

Case file(std::string name, const std::string& value, std::string says) {
  return map(std::move(name), "{\"a\":" + value + "}", std::move(says));
}

std::vector<Case> cases() {
  return {
      {"Empty", "", "not JSON"},
      {"Text", "weights", "not JSON"},
      {"Null", "null", "must be an object, got null"},
      {"List", R"(["x.safetensors"])", "must be an object"},
      {"Number", "3", "must be an object, got 3"},
      {"NeverEnds", R"({"weight_map":{"a":"x.safetensors")", "not JSON"},
      {"IsFollowedByMore", R"({"weight_map":{"a":"x.safetensors"}}})", "not JSON"},
      {"BrokenUtf8", "{\"weight_map\":{\"\xff\":\"x.safetensors\"}}", "not JSON"},
      {"HasAZeroAndMore",
       std::string(R"({"weight_map":{"a":"x.safetensors"}})") + '\0' + "x",
       "not JSON"},
      {"NumberTooLarge", R"({"weight_map":{"a":1e999}})", "not JSON"},
      {"VeryDeep", "{\"a\":" + std::string(100'000, '['), "at most 64 deep"},
      {"NoMap", "{}", "weight_map must be an object of tensors and their files, got none"},
      {"MapMisspelt", R"({"weights_map":{"a":"x.safetensors"}})", "got none"},
      {"MapTwice", R"({"weight_map":{},"weight_map":{"a":"x.safetensors"}})", "there twice"},
      {"MetadataList", R"({"metadata":[],"weight_map":{"a":"x.safetensors"}})", "metadata must be"},
      {"MetadataText", R"({"metadata":"1","weight_map":{"a":"x.safetensors"}})", "metadata"},
      map("MapIsNull", "null", "got null"),
      map("MapIsAList", R"(["x.safetensors"])", "weight_map must be"),
      map("MapIsAText", R"("x.safetensors")", "weight_map must be"),
      map("MapIsEmpty", "{}", "weight_map must be"),
      map("TensorTwice", R"({"a":"x.safetensors","a":"y.safetensors"})", "'a' is there twice"),
      file("FileIsNull", "null", "got null"),
      file("FileIsANumber", "1", "got 1"),
      file("FileIsAList", R"(["x.safetensors"])", "the file of 'a' must be"),
      file("FileIsAnObject", "{}", "got an object"),
      file("FileHasNoName", R"("")", "got \"\""),
      file("FileIsABin", R"("pytorch_model.bin")", "pytorch_model.bin"),
      file("FileLiesAbove", R"("../x.safetensors")", "in the same folder"),
      file("FileLiesBelow", R"("b/x.safetensors")", "in the same folder"),
      file("FileIsAbsolute", R"("/etc/x.safetensors")", "in the same folder"),
      file("FileHasAZero", R"("x\u0000.safetensors")", "in the same folder"),
      file("FileIsNotThere", R"("y.safetensors")", "there is no file"),
      file("FileHasALongName",
           "\"" + std::string(5000, 'y') + ".safetensors\"",
           "cannot open a file"),
      file("FileIsAFolder", R"("folder.safetensors")", "got a folder"),
      file("FileIsDamaged", R"("damaged.safetensors")", "damaged.safetensors: too short"),
      map("TensorIsElsewhere", R"({"b":"x.safetensors"})", "does not hold 'b'"),
  };
}

class MalformedIndex : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, MalformedIndex, ::testing::ValuesIn(cases()), [](const auto& info) {
  return info.param.name;
});

TEST_P(MalformedIndex, IsRefusedInOneSentence) {
  const TemporaryFolder folder;
  testing::write_safetensors(folder.path("x.safetensors"), {{"a", at::ones({2})}});
  folder.write("folder.safetensors/file", "");
  folder.write("damaged.safetensors", "");
  folder.write(kIndexName, GetParam().text);
  try {
    const Weights weights(folder.path());
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(GetParam().says));
    EXPECT_THAT(error.what(), HasSubstr(folder.path()));
    EXPECT_THAT(error.what(), ::testing::Not(HasSubstr("\n")));
  }
}

TEST(MalformedIndexes, AreGoodBeforeTheyAreSpoilt) {
  const TemporaryFolder folder;
  testing::write_safetensors(folder.path("x.safetensors"), {{"a", at::ones({2})}});
  folder.write(kIndexName, R"({"metadata":{"total_size":8.0},"weight_map":{"a":"x.safetensors"}})");
  EXPECT_EQ(Weights(folder.path()).names().size(), 1U);
}

}  // namespace
}  // namespace sheaf::checkpoint
