// The pages of docs/ on errors are complete: errors.md has the words of everything that fails or
// warns while a run goes on, and the pages that `./dev docs` writes have every UsageError.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "error_messages.h"
#include "error_pages.h"

namespace sheaf {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Eq;

const fs::path kRoot = SHEAF_SOURCE_DIR;

// All messages of the sources, which are read once.
const MessagesByPath& all_messages() {
  static const MessagesByPath messages = messages_below(kRoot);
  return messages;
}

std::vector<std::string> texts_of(const std::string& source) {
  std::vector<std::string> texts;
  for (const ErrorMessage& each : messages_of(source))
    texts.push_back(each.kind + ": " + each.text);
  return texts;
}

// The page as one line, since its lines end anywhere.
std::string hand_written_page() {
  std::string page = text_of_file(kRoot / "docs/errors.md");
  std::ranges::replace(page, '\n', ' ');
  return page;
}

// Sources that throw or log what others have put into words, and whose words those are.
std::map<std::string, std::string> borrowers() {
  return {
      {"src/base/toml.cpp", "the system's words about a file, and those of fail()"},
      {"src/checkpoint/agree.cpp", "what another rank has thrown"},
      {"src/checkpoint/header_events.cpp", "what_is_expected(), a source of sentences below"},
      {"src/checkpoint/manifest.cpp", "what the JSON of a manifest was refused for"},
      {"src/checkpoint/reader.cpp", "what a manifest was refused for, with its file"},
      {"src/checkpoint/restore.cpp", "what a checkpoint was refused for"},
      {"src/checkpoint/weights.cpp", "missing_weights(), a source of sentences below"},
      {"src/cli/doctor/backend_checks.cpp", "what a check on another thread has thrown"},
      {"src/cli/plan/model_argument.cpp", "what a config.json was refused for, with its file"},
      {"src/comm/group_state.cpp", "verdicts of the watch, a source of sentences below"},
      {"src/comm/one_gpu/watch.cpp", "the words of fail()"},
      {"src/comm/watch/board.cpp", "verdicts of the watch"},
      {"src/comm/watch/far_pages.cpp", "verdicts of the watch"},
      {"src/comm/watch/watch.cpp", "verdicts of the watch"},
      {"src/data/bpe/json_view.cpp", "the words of refuse()"},
      {"src/data/pack/documents.cpp", "the words of refuse()"},
      {"src/launch/launcher.cpp", "what ends the job, from the council"},
      {"src/launch/messages.cpp", "what another launcher has said"},
      {"src/launch/mps_daemon.cpp", "the words of fail()"},
      {"src/launch/node_link.cpp", "a source of sentences below"},
      {"src/launch/progress_board.cpp", "the words of fail()"},
      {"src/launch/rank_process.cpp", "the words of fail()"},
      {"src/launch/run_main.cpp", "whatever ended the program"},
      {"src/launch/supervisor.cpp", "a source of sentences below"},
      {"src/plan/memory.cpp", "the words of require()"},
      {"src/profile/trace.cpp", "the words of refuse()"},
      {"src/profile/trace_json.cpp", "the words of refuse()"},
      {"src/train/numbers_guard.cpp", "a source of sentences below"},
      {"src/train/trainer.cpp", "what the check of weights has found"},
  };
}

// Sources that make sentences which others throw or log.
std::set<std::string> makers() {
  return {"src/checkpoint/header_events.cpp",
          "src/checkpoint/restore.cpp",
          "src/checkpoint/weights.cpp",
          "src/comm/watch/full_check.cpp",
          "src/comm/watch/group_log.cpp",
          "src/comm/watch/watch.cpp",
          "src/launch/node_link.cpp",
          "src/launch/supervisor.cpp",
          "src/memory/limit.cpp",
          "src/train/numbers_guard.cpp",
          "src/train/out_of_memory.cpp",
          "src/train/run_checkpointer.cpp",
          "src/train/sync_check.cpp"};
}

TEST(ErrorMessages, PutsBracesWhereValuesAre) {
  EXPECT_THAT(texts_of(R"(throw CommError(fmt::format("{} ended during "
                             "{:.3f}", who, what)); return IoError(name + " is gone: " + why);)"),
              ElementsAre("CommError: {} ended during {}", "IoError: {} is gone: {}"));
}

TEST(ErrorMessages, FollowsBothSidesOfAChoice) {
  EXPECT_THAT(
      texts_of(
          R"(throw UsageError(is_new ? "too new" : fmt::format("{} is old", std::min(a, b)));)"),
      ElementsAre("UsageError: too new", "UsageError: {} is old"));
}

TEST(ErrorMessages, KnowsVerdictsAndTheLog) {
  EXPECT_THAT(texts_of(R"re(fail({.code = 1, .sentence = "node " + n + " is gone", .node = 2});
                          log::warning("launch", "goes on without (" + name + ")");)re"),
              testing::AllOf(Contains("failure: node {} is gone"),
                             Contains("warning: goes on without ({})")));
}

TEST(ErrorMessages, GivesPhrasesTheClassThatTheirFunctionThrows) {
  const auto found = messages_of(R"(void refuse(const char* what) {
      throw IoError(fmt::format("cannot {} a file", what)); }
      void open() { refuse("write to the end of"); })");
  EXPECT_EQ(found.back().kind, "IoError");
  EXPECT_TRUE(found.back().is_phrase);
  EXPECT_EQ(found.back().text, "write to the end of");
}

TEST(ErrorMessages, PassesOverComments) {
  EXPECT_TRUE(messages_of("// throw UsageError(\"not this\");\nint x = 1'000;").empty());
}

TEST(ErrorsPage, HasTheWordsOfEverythingThatFailsOrWarns) {
  const std::string page = hand_written_page();
  std::size_t count = 0;
  for (const auto& [path, messages] : all_messages()) {
    for (const ErrorMessage& each : messages) {
      if (each.kind == "UsageError" || !has_words(each.text)) continue;
      ++count;
      EXPECT_NE(page.find(longest_part(each.text)), std::string::npos)
          << path << ':' << each.line << ": docs/errors.md has no row for this " << each.kind
          << ": " << each.text;
    }
  }
  EXPECT_GT(count, 150U);
}

TEST(ErrorsPage, HasTheWordsOfSentencesThatAreMadeForOthersToThrow) {
  std::string pages = hand_written_page();
  for (const ErrorPage& each : usage_pages(all_messages())) pages += each.text;
  for (const std::string& path : makers()) {
    for (const std::string& text : long_texts_of(text_of_file(kRoot / path))) {
      EXPECT_NE(pages.find(longest_part(text)), std::string::npos)
          << path << ": docs/errors.md does not have " << text;
    }
  }
}

TEST(ErrorsPage, KnowsWhoThrowsTheWordsOfOthers) {
  const auto known = borrowers();
  std::set<std::string> found;
  for (const auto& [name, messages] : all_messages()) {
    for (const ErrorMessage& each : messages) {
      if (each.is_phrase || has_words(each.text)) continue;
      found.insert(name);
      EXPECT_TRUE(known.contains(name))
          << name << ':' << each.line << " has no words of its own for this " << each.kind
          << ": name it in borrowers(), with where its words are: " << each.text;
    }
  }
  for (const auto& [name, words] : known) EXPECT_TRUE(found.contains(name)) << name;
}

// A class of errors that nobody knows here would be missing on every page.
TEST(ErrorsPage, KnowsEveryClassThatIsThrown) {
  const std::set<std::string> read{"UsageError",
                                   "IoError",
                                   "CommError",
                                   "WatchError",
                                   "Error",
                                   "Damaged",
                                   "UnknownVersion",
                                   "Diverged",
                                   "RollBack"};
  // Out of memory has a section of its own, who interrupts a study knows it, logic errors are for
  // who changes sheaf, and functions return what is read where they are.
  const std::set<std::string> others{"OutOfMemory",
                                     "Interrupted",
                                     "bad_alloc",
                                     "logic_error",
                                     "out_of_memory",
                                     "unreadable",
                                     "explained"};
  static const std::regex thrown(R"(\n[^/\n]*\bthrow (?:\w+::)*(\w+)[({])");
  for (const auto& [path, messages] : all_messages()) {
    const std::string source = text_of_file(kRoot / path);
    for (std::sregex_iterator i(source.begin(), source.end(), thrown), none; i != none; ++i) {
      EXPECT_TRUE(read.contains((*i)[1]) || others.contains((*i)[1])) << path << ": " << (*i)[1];
    }
  }
}

TEST(ErrorsPage, ListsEveryUsageErrorAsTheSourcesHaveIt) {
  std::size_t entries = 0;
  for (const ErrorPage& page : usage_pages(all_messages())) {
    EXPECT_THAT(text_of_file(kRoot / page.path), Eq(page.text)) << "run: ./dev docs";
    for (std::size_t at = page.text.find("\n- "); at != std::string::npos;
         at = page.text.find("\n- ", at + 1)) {
      ++entries;
    }
  }
  EXPECT_GT(entries, 400U);
}

}  // namespace
}  // namespace sheaf
