#include "study/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "sheaf/base/error.h"
#include "support/temporary_folder.h"

namespace sheaf::study {
namespace {

using sheaf::testing::TemporaryFolder;

TEST(Parts, AreMadeOnce) {
  const TemporaryFolder folder;
  const auto made_with = [&](int number) {
    return Parts(folder.path("parts"), "key").get("a part", [&] { return Json(number); });
  };
  EXPECT_EQ(made_with(1), 1);
  EXPECT_EQ(made_with(2), 1);
}

TEST(Parts, OfAnotherStudyAreRefused) {
  const TemporaryFolder folder;
  const Parts first(folder.path("parts"), "key");
  EXPECT_THROW(Parts(folder.path("parts"), "other"), UsageError);
}

TEST(Parts, ThatFailedAreMadeAgain) {
  const TemporaryFolder folder;
  const Parts parts(folder.path("parts"), "key");
  EXPECT_THROW(static_cast<void>(parts.get("x", []() -> Json { throw std::runtime_error("no"); })),
               std::runtime_error);
  EXPECT_EQ(parts.get("x", [] { return Json(3); }), 3);
}

TEST(Parts, WhoseRunFailedAreMadeAgainButNotThoseThatLackedMemory) {
  const TemporaryFolder folder;
  const Parts parts(folder.path("parts"), "key");
  const Json one_of_two = Json::array({Json{{"ending", "finished"}}, Json{{"ending", "failed"}}});
  for (const Json& failed :
       {Json(), Json{{"ending", "failed"}}, Json{{"reason", "no file"}}, one_of_two}) {
    EXPECT_EQ(parts.get("x", [&] { return failed; }), failed);
  }
  const Json too_large{{"ending", "out of memory"}, {"reason", "256 MiB"}};
  EXPECT_EQ(parts.get("x", [&] { return too_large; }), too_large);
  EXPECT_EQ(parts.get("x", [] { return Json(5); }), too_large);
}

TEST(Parts, ThatWereCutShortAreMadeAgain) {
  const TemporaryFolder folder;
  const Parts parts(folder.path("parts"), "key");
  std::ofstream(folder.path("parts") + "/x.json") << "{\"half\": ";
  EXPECT_EQ(parts.get("x", [] { return Json(4); }), 4);
}

}  // namespace
}  // namespace sheaf::study
