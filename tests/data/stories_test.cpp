#include "sheaf/data/stories.h"

#include <gtest/gtest.h>

#include <set>

namespace sheaf::data {
namespace {

TEST(Stories, AreTheSameOnEveryMachine) {
  EXPECT_EQ(story(1, 0),
            "Otto lives next to the station. He counts the stars when it rains. One day Otto buys "
            "an enormous whistle, and his friend wants to see the whistle. Then he meets Nora and "
            "gives her a boat. In the end Otto is very proud.\n");
  EXPECT_EQ(story(1, 1),
            "Under the bridge lives Ivan. Every morning he walks to the market. One day Ivan buys "
            "a red orange hat, and his friend wants to see the orange hat. Then he meets Otto and "
            "gives him an umbrella. In the end Ivan is tired but glad.\n");
}

TEST(Stories, DifferByIndexAndSeed) {
  std::set<std::string> seen;
  for (std::int64_t i = 0; i < 1000; ++i) seen.insert(story(1, i));
  EXPECT_GT(seen.size(), 990U);
  EXPECT_NE(story(1, 0), story(2, 0));
}

TEST(Stories, HaveVerbsThatAgreeWithTheirSubjects) {
  for (std::int64_t i = 0; i < 2000; ++i) {
    const std::string text = story(9, i);
    const bool two =
        text.find("they ") != std::string::npos || text.find("They ") != std::string::npos;
    for (const char* verb : {" lives", " meets ", " gives ", " is ", " has to ", " walks to "}) {
      EXPECT_FALSE(two && text.find(verb) != std::string::npos) << verb << "in " << text;
    }
    for (const char* verb : {" live ", " meet ", " give ", " are ", " have to ", " walk to "}) {
      EXPECT_FALSE(!two && text.find(verb) != std::string::npos) << verb << "in " << text;
    }
  }
}

TEST(Stories, ChooseTheArticleByTheNextSound) {
  for (std::int64_t i = 0; i < 2000; ++i) {
    const std::string text = story(9, i);
    for (const char vowel : std::string("aeiou")) {
      EXPECT_EQ(text.find(std::string(" a ") + vowel), std::string::npos) << text;
    }
    for (std::size_t at = 0; (at = text.find(" an ", at)) != std::string::npos; at += 4) {
      EXPECT_NE(std::string("aeiou").find(text[at + 4]), std::string::npos) << text;
    }
  }
}

TEST(Stories, FollowOneAnotherUpToTheExactSize) {
  const std::string two = story(4, 0) + "\n" + story(4, 1) + "\n";
  EXPECT_EQ(stories(4, static_cast<std::int64_t>(two.size())), two);
  for (const std::int64_t size : {0, 1, 10, 1000, 12'345}) {
    EXPECT_EQ(stories(4, size), stories(4, 20'000).substr(0, static_cast<std::size_t>(size)));
  }
}

}  // namespace
}  // namespace sheaf::data
