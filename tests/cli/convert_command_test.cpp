#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/commands.h"
#include "cli/program.h"
#include "hub/sample_models.h"
#include "support/temporary_folder.h"

namespace sheaf::cli {
namespace {

using ::testing::HasSubstr;

struct Result {
  int exit_code = 0;
  std::string out;
  std::string err;
};

Result convert(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "convert");
  std::ostringstream out;
  std::ostringstream err;
  const int exit_code = run_program(commands(), arguments, Console{.out = out, .err = err});
  return {exit_code, out.str(), err.str()};
}

class ConvertCommandTest : public ::testing::Test {
 protected:
  ConvertCommandTest() {
    sheaf::testing::write_sample(folder_.path("from"), sheaf::testing::odd_shape("gpt2"));
  }

  /// One line on stderr, with this in it.
  void expect_refused(const std::vector<std::string>& arguments, const std::string& text) {
    const Result result = convert(arguments);
    EXPECT_EQ(result.exit_code, 2) << text;
    EXPECT_THAT(result.err, HasSubstr(text));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(result.out, "");
  }

  sheaf::testing::TemporaryFolder folder_;
};

TEST_F(ConvertCommandTest, SaysWhatItHasWritten) {
  const Result result = convert({"--from", folder_.path("from"), "--to", folder_.path("to")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, folder_.path("to") + ": 28 tensors, 136.1 KiB in 1 file\n");
}

TEST_F(ConvertCommandTest, TakesATypeAndASize) {
  const Result result = convert({"--from",
                                 folder_.path("from"),
                                 "--to",
                                 folder_.path("to"),
                                 "--dtype",
                                 "bf16",
                                 "--shard-size",
                                 "30kB"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("68.1 KiB in 3 files"));
}

TEST_F(ConvertCommandTest, RefusesWhatCannotBeInOneSentence) {
  const std::string from = folder_.path("from");
  const std::string to = folder_.path("to");
  expect_refused({}, "--from DIR and --to DIR");
  expect_refused({"--from", from}, "--to DIR");
  expect_refused({"--from", folder_.path("no"), "--to", to}, "there is no folder");
  expect_refused({"--from", from, "--to", from}, "another folder");
  expect_refused({"--from", from, "--to", to, "--dtype", "int8"}, "keep, fp32, bf16 or fp16");
  expect_refused({"--from", from, "--to", to, "--shard-size", "0"}, "shard-size");
  expect_refused({"--from", from, "--to", to, "--shard-size", "5 apples"}, "shard-size");
  folder_.write("full/file", "");
  expect_refused({"--from", from, "--to", folder_.path("full")}, "is not empty");
  expect_refused({"--from", from, "--to", folder_.path("full"), "--overwrite"}, "no config.json");
}

}  // namespace
}  // namespace sheaf::cli
