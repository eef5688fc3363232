// Exports to disks that are full: an error in words, and nothing is left.
#include "sheaf/checkpoint/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/failing_disk.h"
#include "checkpoint/sample_checkpoint.h"
#include "sheaf/base/error.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"

namespace sheaf::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace sheaf::testing;

class ExportToAFullDisk : public ::testing::TestWithParam<ExportFormat> {
 protected:
  ExportToAFullDisk() { save_sample(from_.path(), 1, 2); }

  /// Exports while operation `number` fails, and after it all writes, as on a disk that is full.
  /// Returns how many operations there were.
  int export_failing_at(int number, const TemporaryFolder& to) {
    int seen = 0;
    const auto disk = std::make_shared<FailingDisk>([&](Operation operation, const std::string&) {
      const int current = seen++;
      if (current < number) return;
      if (current == number || operation == Operation::write) throw IoError("No space left");
    });
    export_checkpoint(Reader(from_.path("latest")),
                      {.to = to.path("out"), .format = GetParam(), .disk = disk});
    return seen;
  }

  TemporaryFolder from_;
};

INSTANTIATE_TEST_SUITE_P(Formats,
                         ExportToAFullDisk,
                         ::testing::Values(ExportFormat::torch, ExportFormat::dcp));

TEST_P(ExportToAFullDisk, FailsInWordsAndLeavesNothing) {
  const TemporaryFolder whole;
  const int operations = export_failing_at(1 << 20, whole);
  ASSERT_GT(operations, 20);
  EXPECT_THAT(whole.names(), ElementsAre("out"));
  for (int number = 0; number < operations; ++number) {
    const TemporaryFolder to;
    EXPECT_THAT(error_of([&] { static_cast<void>(export_failing_at(number, to)); }),
                HasSubstr("No space left"))
        << "operation " << number;
    EXPECT_THAT(to.names(), IsEmpty()) << "operation " << number;
  }
}

TEST(Export, TakesAFolderWithASlashBehindIt) {
  const TemporaryFolder from;
  const TemporaryFolder to;
  save_sample(from.path(), 1);
  export_checkpoint(Reader(from.path("latest")),
                    {.to = to.path("out") + "/", .format = ExportFormat::dcp});
  EXPECT_THAT(to.names(), ElementsAre("out"));
}

}  // namespace
}  // namespace sheaf::checkpoint
