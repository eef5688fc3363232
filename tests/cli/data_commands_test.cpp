// sheaf data: from text to a tokenizer, to token files, and back to text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/data/input_arguments.h"
#include "cli/data/progress_line.h"
#include "cli/program.h"
#include "sheaf/base/error.h"
#include "sheaf/data/embedded_corpus.h"

namespace sheaf::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

struct Outcome {
  int exit_code = 0;
  std::string out;
  std::string err;
};

Outcome run(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int exit_code = run_program(commands(), arguments, Console{.out = out, .err = err});
  return {exit_code, out.str(), err.str()};
}

class DataCommands : public ::testing::Test {
 protected:
  DataCommands() { std::filesystem::create_directories(folder_); }
  ~DataCommands() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  [[nodiscard]] std::string corpus() const {
    return write("corpus.txt",
                 std::string(data::embedded_corpus().substr(0, 60'000)) + "<|endoftext|>The end.");
  }

  std::string folder_ = ::testing::TempDir() + "sheaf_data_" + std::to_string(::getpid());
};

TEST_F(DataCommands, MakeATokenizerAndTokenFilesAndReadThem) {
  const auto text = corpus();
  const auto tokenizer = path("tokenizer.json");
  const Outcome trained =
      run({"data", "tokenizer", "train", "--size", "500", "--out", tokenizer, text});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(trained.out, HasSubstr("bpe-500"));

  const Outcome packed =
      run({"data", "pack", "--tokenizer", tokenizer, "--out", path("packed"), text});
  EXPECT_EQ(packed.exit_code, 0) << packed.err;
  EXPECT_THAT(packed.out, HasSubstr("<|endoftext|> (token 0)"));

  const Outcome inspected = run(
      {"data", "inspect", path("packed"), "--verify", "--decode", "20", "--tokenizer", tokenizer});
  EXPECT_EQ(inspected.exit_code, 0) << inspected.err;
  EXPECT_THAT(inspected.out, HasSubstr("shard-00000-of-00001.tok"));
  EXPECT_THAT(inspected.out, HasSubstr("every checksum is right"));
  EXPECT_THAT(inspected.out, HasSubstr("    First Citizen:\n"));
}

TEST_F(DataCommands, PrintJson) {
  const Outcome packed =
      run({"data", "pack", "--tokenizer", SHEAF_GPT2, "--out", path("p"), "--json", corpus()});
  const json summary = json::parse(packed.out);
  EXPECT_EQ(summary["documents"], 2);
  EXPECT_EQ(summary["vocabulary"], 50'257);
  EXPECT_EQ(summary["end_token"], 50'256);
  const Outcome inspected =
      run({"data", "inspect", path("p"), "--json", "--decode=4", "--tokenizer", SHEAF_GPT2});
  const json page = json::parse(inspected.out);
  EXPECT_EQ(page["tokens"], summary["tokens"]);
  EXPECT_EQ(page["tokenizer_hash"], summary["tokenizer_hash"]);
  EXPECT_EQ(page["dtype"], "uint16");
  EXPECT_EQ(page["text"], "First Citizen:\n");
}

TEST_F(DataCommands, RefuseWhatIsMissingOrWrongWithExitCodeTwo) {
  const auto text = corpus();
  const std::vector<std::pair<std::vector<std::string>, std::string>> kCases = {
      {{"data", "pack", "--out", path("x"), text}, "--tokenizer is missing"},
      {{"data", "pack", "--tokenizer=bytes", text}, "--out is missing"},
      {{"data", "pack", "--tokenizer=bytes", "--out", path("x")}, "missing argument input"},
      {{"data", "pack", "--tokenizer=bytes", "--out", path("x"), path("none")}, "no file"},
      {{"data", "pack", "--tokenizer", text, "--out", path("x"), text}, "this is not JSON"},
      {{"data", "pack", "--tokenizer", folder_, "--out", path("x"), text},
       "neither tokenizer.json"},
      {{"data", "pack", "--tokenizer=bytes", "--out", folder_, text}, "something already"},
      {{"data", "inspect", text}, "this is not a token file"},
      {{"data", "inspect", path("none")}, "no file"},
      {{"data", "inspect", text, "--decode=3"}, "--decode needs --tokenizer"},
      {{"data", "tokenizer", "train", "--out", path("x"), text}, "--size is missing"},
      {{"data", "tokenizer", "train", "--size=300", text}, "--out is missing"},
      {{"data", "tokenizer", "train", "--size=10", "--out", path("x"), text}, "between 257"},
      {{"data", "pak"}, "unknown command 'data pak', did you mean data pack?"},
  };
  for (const auto& [arguments, message] : kCases) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << message;
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_THAT(outcome.out, ::testing::IsEmpty());
    EXPECT_FALSE(std::filesystem::exists(path("x"))) << message;
  }
}

TEST_F(DataCommands, AreListedAsAGroup) {
  for (const std::vector<std::string>& ask :
       {std::vector<std::string>{"data", "--help"}, {"help", "data"}}) {
    const Outcome outcome = run(ask);
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("usage: sheaf data <command>"));
    EXPECT_THAT(outcome.out, HasSubstr("  data tokenizer train  "));
    EXPECT_THAT(outcome.out, Not(HasSubstr("launch")));
  }
  EXPECT_EQ(run({"data"}).exit_code, 2);
  EXPECT_THAT(run({"data"}).err, HasSubstr("data pack"));
  EXPECT_THAT(run({"help", "data", "pack"}).out,
              HasSubstr("usage: sheaf data pack [options] <input> ...\n"));
}

TEST_F(DataCommands, EndOnASignal) {
  std::ostringstream err;
  Console console{.out = err, .err = err};
  const Reading reading = read_documents({}, console, [](const data::InputOptions& input) {
    EXPECT_FALSE(input.should_stop());
    std::raise(SIGTERM);
    EXPECT_TRUE(input.should_stop());
    throw Error("interrupted");
  });
  EXPECT_EQ(reading.signal, SIGTERM);
}

TEST(ProgressText, SaysHowFarAndHowLong) {
  EXPECT_EQ(
      progress_text(
          {.bytes_read = 50'000'000, .bytes = 100'000'000, .documents = 10, .tokens = 12'000'000},
          Seconds(5)),
      "[###############...............]  50 %  10.0 MB/s  12.0 M tokens  5.0 s left");
  EXPECT_THAT(progress_text({}, Seconds(0)), HasSubstr("100 %"));
}

TEST(ProgressLine, IsTakenAwayFromATerminal) {
  std::ostringstream out;
  {
    ProgressLine line(out, true);
    line.show({.bytes_read = 1, .bytes = 2});
  }
  EXPECT_THAT(out.str(), HasSubstr("50 %"));
  EXPECT_THAT(out.str(), ::testing::EndsWith("\r\x1b[K"));
}

TEST(ProgressLine, SaysNothingOfWhatIsQuickElsewhere) {
  std::ostringstream out;
  ProgressLine line(out, false);
  line.show({.bytes_read = 1, .bytes = 2});
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace sheaf::cli
