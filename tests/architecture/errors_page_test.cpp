// docs/errors.md has an entry for every way in which ranks and launchers can fail each other: each
// CommError and Failure of src/comm and src/launch. (A UsageError says itself what is possible.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace sheaf {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Returns the words of a sentence between its values, without what joins it to others.
std::string longest_part(const std::string& sentence) {
  static const std::regex value(R"(\{[^}]*\})");
  const std::string marked = std::regex_replace(sentence, value, "\n");
  std::istringstream parts(marked);
  std::string longest;
  for (std::string part; std::getline(parts, part);) {
    if (part.size() > longest.size()) longest = part;
  }
  const auto first = longest.find_first_not_of(" :");
  const auto last = longest.find_last_not_of(" :(");
  return first == std::string::npos ? "" : longest.substr(first, last - first + 1);
}

/// Returns the characteristic words of each failure that a source makes.
std::vector<std::string> failures_of(const std::string& source) {
  static const std::regex start(R"(\b(CommError|Failure)\s*[({])");
  static const std::regex literal(R"re("((?:[^"\\]|\\.)*)")re");
  std::vector<std::string> found;
  for (std::sregex_iterator i(source.begin(), source.end(), start), none; i != none; ++i) {
    const auto begin = static_cast<std::size_t>(i->position() + i->length());
    // Names of fields in a message are no words of a sentence.
    static const std::regex field(R"re(\.at\("[^"]*"\))re");
    const std::string statement =
        std::regex_replace(source.substr(begin, source.find(';', begin) - begin), field, "");
    std::string sentence;
    for (std::sregex_iterator j(statement.begin(), statement.end(), literal); j != none; ++j) {
      sentence += (*j)[1];
    }
    const std::string part = longest_part(sentence);
    if (part.size() >= 6) found.push_back(part);
  }
  return found;
}

TEST(ErrorsPage, FindsTheWordsOfFailures) {
  EXPECT_THAT(failures_of(R"(throw CommError(fmt::format("{} ended during "
                             "{}", who, what)); return Failure{1, name + " is gone: why"};)"),
              testing::ElementsAre("ended during", "is gone: why"));
}

TEST(ErrorsPage, HasAnEntryForEveryFailureBetweenRanks) {
  const fs::path root = SHEAF_SOURCE_DIR;
  const std::string page = read(root / "docs/errors.md");
  std::size_t count = 0;
  for (const char* folder : {"src/comm", "src/launch"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".cpp") continue;
      for (const std::string& words : failures_of(read(entry.path()))) {
        ++count;
        EXPECT_NE(page.find(words), std::string::npos)
            << entry.path() << " fails with words that docs/errors.md does not have: " << words;
      }
    }
  }
  EXPECT_GT(count, 30U);
}

}  // namespace
}  // namespace sheaf
