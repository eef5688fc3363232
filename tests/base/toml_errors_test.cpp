#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "sample_options.h"
#include "sheaf/base/error.h"
#include "sheaf/base/toml.h"

namespace sheaf::sample {
namespace {

using testing::EndsWith;
using testing::StartsWith;

std::string error_of(const std::string& document) {
  MountedSample sample;
  try {
    read_toml(document, "run.toml", sample.collector.fields());
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted: " + document;
}

std::string file_error(const std::filesystem::path& path) {
  MountedSample sample;
  try {
    read_toml_file(path, sample.collector.fields());
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted: " + path.string();
}

struct BadDocument {
  std::string document;
  std::string message;
};

const std::vector<BadDocument> kWrongTypes = {
    {"[job]\n\nranks = '8'", "run.toml:3: job.ranks: expected an integer, got the text '8'"},
    {"job.ranks = 8.0", "run.toml:1: job.ranks: expected an integer, got 8.0"},
    {"job.ranks = true", "run.toml:1: job.ranks: expected an integer, got true"},
    {"job.ranks = [1]", "run.toml:1: job.ranks: expected an integer, got a list"},
    {"[job.ranks]\nx = 1", "run.toml:1: job.ranks: expected an integer, got a section"},
    {"job.seed = 2026-08-01", "run.toml:1: job.seed: expected an integer, got a date or time"},
    {"job.enabled = 1", "run.toml:1: job.enabled: expected true or false, got 1"},
    {"job.enabled = 'true'",
     "run.toml:1: job.enabled: expected true or false, got the text 'true'"},
    {"job.rate = '0.1'",
     "run.toml:1: job.rate: expected a number such as 0.1 or 3e-4, got the text "
     "'0.1'"},
    {"job.rate = inf", "run.toml:1: job.rate: expected a number such as 0.1 or 3e-4, got 'inf'"},
    {"job.name = 5", "run.toml:1: job.name: expected a text, got 5"},
    {"job.stage = 3", "run.toml:1: job.stage: expected ddp, zero1 or zero3, got 3"},
    {"job.limit = true",
     "run.toml:1: job.limit: expected a size such as 64MiB or 1.5GiB, got true"},
    {"job.limit = 1.5",
     "run.toml:1: job.limit: expected a size such as 64MiB or 1.5GiB, got '1.5'"},
    {"job.timeout = -1", "run.toml:1: job.timeout: expected a time such as 30s or 5min, got '-1'"},
    {"job.tags = 'a,b'", "run.toml:1: job.tags: expected a list of texts, got the text 'a,b'"},
    {"job.tags = ['a', 1]", "run.toml:1: job.tags: expected a list of texts, got a list"},
    {"job.sizes = [1, 2.5]", "run.toml:1: job.sizes: expected a list of integers, got a list"},
    {"job.sizes = [[1]]", "run.toml:1: job.sizes: expected a list of integers, got a list"},
    {"job.shares = [1, '2']", "run.toml:1: job.shares: expected a list of numbers, got a list"},
    {"job.shares = 0.5", "run.toml:1: job.shares: expected a list of numbers, got 0.5"},
    {"job = 3", "run.toml:1: job: expected a section, got 3"},
    {"[[job]]\nranks = 1", "run.toml:1: job: expected a section, got a list"}};

const std::vector<BadDocument> kUnknownKeys = {
    {"[job]\nrnaks = 8", "run.toml:2: job.rnaks: unknown key, did you mean job.ranks?"},
    {"\n[jobs]\nranks = 8", "run.toml:2: jobs: unknown key, did you mean job?"},
    {"ranks = 8", "run.toml:1: ranks: unknown key, did you mean job.ranks?"},
    {"[job.retry]\nstage = 1", "run.toml:2: job.retry.stage: unknown key, did you mean job.stage?"},
    {"[job.retry]\ntemperature = 1",
     "run.toml:2: job.retry.temperature: unknown key, known here: times or pause"},
    {"temperature = 1", "run.toml:1: temperature: unknown key, known here: job"},
    {"'job.ranks' = 8", "run.toml:1: \"job.ranks\": unknown key, did you mean job.ranks?"},
    {"'' = 8", "run.toml:1: \"\": unknown key, known here: job"}};

const std::vector<std::string> kNotToml = {"[job",
                                           "job.ranks",
                                           "job.ranks =",
                                           "job.ranks = eight",
                                           "job.ranks = 1 2",
                                           "job.name = 'open",
                                           "job.name = \"bad \\q escape\"",
                                           "job.seed = 99999999999999999999",
                                           "= 1",
                                           "job.name = \"\xff\"",
                                           "job.ranks = 1, job.ranks = 2",
                                           "}"};

TEST(ReadToml, NamesAWrongTypeWithFileLineAndKey) {
  for (const auto& [document, message] : kWrongTypes) EXPECT_EQ(error_of(document), message);
}

TEST(ReadToml, NamesAnUnknownKeyAndTheNearestOne) {
  for (const auto& [document, message] : kUnknownKeys) EXPECT_EQ(error_of(document), message);
}

TEST(ReadToml, NamesTheLineOfEveryWrongValue) {
  for (const auto& bad : bad_values()) {
    const std::string document = "\n\njob." + bad.key + " = '''" + bad.text + "'''\n";
    EXPECT_THAT(error_of(document), StartsWith("run.toml:3: "));
  }
}

TEST(ReadToml, NamesAValueOutOfBounds) {
  EXPECT_EQ(error_of("[job]\nranks = 0"), "run.toml:2: job.ranks: must be at least 1, got 0");
  EXPECT_EQ(error_of("[job]\nsizes = [1, -3]"),
            "run.toml:2: job.sizes: must be at least 1, got -3");
  EXPECT_EQ(error_of("job.retry.pause = '2min'"),
            "run.toml:1: job.retry.pause: must be at most 1min, got 2min");
}

TEST(ReadToml, NamesTheLineThatIsNotToml) {
  for (const auto& line : kNotToml) {
    const std::string message = error_of("# first line\n" + line);
    EXPECT_THAT(message, StartsWith("run.toml:2: not TOML: "));
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(ReadToml, RefusesTheSameKeyTwice) {
  EXPECT_THAT(error_of("[job]\nranks = 1\nranks = 2"), StartsWith("run.toml:3: not TOML: "));
}

TEST(ReadTomlFile, NamesAMissingFile) {
  EXPECT_EQ(file_error("/nowhere/run.toml"), "/nowhere/run.toml: No such file or directory");
}

TEST(ReadTomlFile, NamesADirectory) {
  EXPECT_EQ(file_error("/tmp"), "/tmp: expected a TOML file, got a directory");
}

TEST(ReadTomlFile, EndsOnAFileWithoutEnd) {
  EXPECT_THAT(file_error("/dev/zero"), EndsWith("got a longer one"));
}

TEST(ReadTomlFile, StartsItsErrorsWithThePath) {
  const auto path = std::filesystem::path(testing::TempDir()) / "sheaf_toml_test_bad.toml";
  std::ofstream(path) << "[job]\nranks = 0\n";
  const std::string message = file_error(path);
  std::filesystem::remove(path);
  EXPECT_EQ(message, path.string() + ":2: job.ranks: must be at least 1, got 0");
}

}  // namespace
}  // namespace sheaf::sample
