#include "sheaf/launch/progress.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "launch/launcher_process.h"
#include "launch/progress_board.h"

namespace sheaf::launch {
namespace {

// Lets this process be the rank with that ticket.
class Ticket {
 public:
  explicit Ticket(const std::string& text) { ::setenv("SHEAF_PROGRESS", text.c_str(), 1); }
  ~Ticket() { ::unsetenv("SHEAF_PROGRESS"); }
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
};

TEST(Progress, IsReadByTheLauncher) {
  const ProgressBoard board(3);
  const Ticket ticket(board.ticket(1));
  Progress progress;
  EXPECT_EQ(board.step(1), std::nullopt);
  progress.report(0);
  EXPECT_EQ(board.step(1), 0);
  progress.report(41);
  EXPECT_EQ(board.step(1), 41);
  EXPECT_EQ(board.step(0), std::nullopt);
  EXPECT_EQ(board.furthest(), 41);
}

TEST(Progress, IsNothingWithoutALauncher) {
  Progress progress;
  progress.report(3);
}

TEST(Progress, LeavesAForeignFileAlone) {
  const TemporaryFolder folder;
  folder.touch("foreign");
  FILE* file = std::fopen(folder.file("foreign").c_str(), "r+");
  ASSERT_NE(file, nullptr);
  const std::string before(64, 'x');
  std::fputs(before.c_str(), file);
  std::fflush(file);
  {
    const Ticket ticket(std::to_string(::fileno(file)) + ":0");
    Progress progress;
    progress.report(3);
  }
  std::fclose(file);
  EXPECT_EQ(folder.read("foreign"), before);
}

TEST(Progress, NeverReachesBeyondTheBoard) {
  const ProgressBoard board(1);
  const Ticket ticket(board.ticket(1));
  Progress progress;
  progress.report(3);
  EXPECT_EQ(board.furthest(), -1);
}

}  // namespace
}  // namespace sheaf::launch
