#include "cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "fake_command.h"
#include "sheaf/base/error.h"
#include "sheaf/base/version.h"

namespace sheaf::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Program, ListsCommandsOnHelp) {
  for (const std::string ask : {"help", "--help", "-h"}) {
    const Outcome outcome = run_fake({ask});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_THAT(outcome.out, HasSubstr("  launch  pretend to work\n  train   pretend to work\n"));
  }
}

TEST(Program, ListsCommandsAsAnErrorWithoutArguments) {
  const Outcome outcome = run_fake({});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, run_fake({"help"}).out);
}

TEST(Program, ExplainsACommandInTwoWays) {
  const Outcome outcome = run_fake({"help", "launch"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, StartsWith("usage: sheaf launch [options] [config.toml] -- ...\n"));
  EXPECT_EQ(outcome.out, run_fake({"launch", "--help"}).out);
}

TEST(Program, PrintsItsVersion) {
  const Outcome outcome = run_fake({"--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, StartsWith("sheaf " + std::string(version())));
}

TEST(Program, RunsACommandWithItsOptions) {
  const Outcome outcome = run_fake({"train", "--job.ranks=5"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "train ran 5\n");
  EXPECT_EQ(outcome.err, "");
}

TEST(Program, ReturnsTheExitCodeOfTheCommand) {
  EXPECT_EQ(run_fake({"launch"}, [] { return 17; }).exit_code, 17);
}

TEST(Program, PrintsTheResolvedConfigurationInsteadOfRunning) {
  const auto path = std::filesystem::path(testing::TempDir()) / "sheaf_program_test.toml";
  std::ofstream(path) << "[job]\nranks = 4\nname = \"file\"\n";
  const Outcome printed =
      run_fake({"train", path.string(), "--job.ranks=8", "--job.timeout=90s", "--print-config"});
  EXPECT_EQ(printed.exit_code, 0);
  EXPECT_THAT(printed.out, HasSubstr("\nranks = 8\n"));
  EXPECT_THAT(printed.out, HasSubstr("\nname = \"file\"\n"));
  std::ofstream(path) << printed.out;
  EXPECT_EQ(run_fake({"train", path.string(), "--print-config"}).out, printed.out);
  std::filesystem::remove(path);
}

struct BadStart {
  std::vector<std::string> arguments;
  std::string message;
};

const std::vector<BadStart> kBadStarts = {
    {{"lunch"}, "sheaf: unknown command 'lunch', did you mean launch?"},
    {{"help", "trian"}, "sheaf: unknown command 'trian', did you mean train?"},
    {{"quantum"}, "sheaf: unknown command 'quantum', see sheaf help"},
    {{""}, "sheaf: unknown command '', see sheaf help"},
    {{"--verison"}, "sheaf: unknown option --verison, did you mean --version?"},
    {{"--version", "x"}, "sheaf: unexpected argument 'x'"},
    {{"help", "train", "x"}, "sheaf: unexpected argument 'x'"}};

TEST(Program, SaysWhatIsWrongBeforeACommandIsKnown) {
  for (const auto& [arguments, message] : kBadStarts) {
    const Outcome outcome = run_fake(arguments);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, message + "\n");
  }
}

TEST(Program, ReportsAnErrorInOneLineWithItsExitCode) {
  const Outcome comm =
      run_fake({"launch"}, []() -> int { throw CommError("rank 2 is gone\nsince 3 s"); });
  EXPECT_EQ(comm.exit_code, 1);
  EXPECT_EQ(comm.err, "sheaf: rank 2 is gone\\nsince 3 s\n");
  const Outcome usage = run_fake({"launch"}, []() -> int { throw UsageError("no program"); });
  EXPECT_EQ(usage.exit_code, 2);
  EXPECT_EQ(usage.err, "sheaf: no program\n");
}

TEST(Program, ReportsTheFirstLineOfAForeignError) {
  const Outcome outcome =
      run_fake({"launch"}, []() -> int { throw std::runtime_error("bad shape\nframe #0"); });
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err, "sheaf: bad shape\n");
}

TEST(Program, SurvivesAnExceptionOfUnknownType) {
  const Outcome outcome = run_fake({"launch"}, []() -> int { throw 3; });
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err, "sheaf: ended by an exception of unknown type\n");
}

TEST(Program, FailsWhenItsOutputCannotBeWritten) {
  std::ofstream full("/dev/full");
  std::ostringstream err;
  std::array<std::string, 2> words = {"sheaf", "help"};
  std::array<char*, 2> argv = {words[0].data(), words[1].data()};
  EXPECT_EQ(run_program(2, argv.data(), full, err), 1);
  EXPECT_EQ(err.str(), "sheaf: cannot write to the standard output\n");
}

TEST(Program, TakesArgumentsAsMainGetsThem) {
  std::ostringstream out;
  std::ostringstream err;
  std::array<std::string, 2> words = {"sheaf", "help"};
  std::array<char*, 2> argv = {words[0].data(), words[1].data()};
  EXPECT_EQ(run_program(2, argv.data(), out, err), 0);
  EXPECT_THAT(out.str(), StartsWith("usage: sheaf <command> [options]\n"));
  EXPECT_EQ(run_program(0, nullptr, out, err), 2);
}

}  // namespace
}  // namespace sheaf::cli
