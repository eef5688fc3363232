// Ranks that save together, and readers that want other parts than were written.
#include "sheaf/checkpoint/saver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <future>

#include "checkpoint/failing_disk.h"
#include "checkpoint/part_writer.h"
#include "checkpoint/sample_checkpoint.h"
#include "sheaf/base/error.h"
#include "sheaf/checkpoint/folder.h"
#include "sheaf/checkpoint/weights.h"
#include "sheaf/comm/run_ranks.h"
#include "support/on_ranks.h"
#include "support/temporary_folder.h"

namespace sheaf::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace sheaf::testing;

class SavedByRanks : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, SavedByRanks, ::testing::Values(1, 2, 3, 4));

TEST_P(SavedByRanks, ComesBackWhole) {
  const TemporaryFolder folder;
  save_sample(folder.path(), 5, GetParam());
  EXPECT_THAT(folder.names(), ElementsAre("latest", "step-00000005"));
  EXPECT_EQ(fs::read_symlink(folder.path("latest")), "step-00000005");
  require_sample(Reader(folder.path("latest")), 5);
}

TEST_P(SavedByRanks, GivesAnyPartOfATensor) {
  const TemporaryFolder folder;
  save_sample(folder.path(), 5, GetParam());
  const Reader reader(folder.path("latest"));
  const TensorSpec& tensor = reader.find("embedding")->tensor;
  const at::Tensor whole = sample_values(tensor, 5);
  for (std::int64_t begin = 0; begin < tensor.numel(); begin += 13) {
    for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, tensor.numel() - begin}) {
      const at::Tensor values = at::empty({count}, at::kDouble);
      reader.read("embedding", begin, values);
      require_equal(values, whole.narrow(0, begin, count).to(at::kDouble), "embedding");
    }
  }
}

TEST_P(SavedByRanks, IsAFolderOfWeightsToOthers) {
  const TemporaryFolder folder;
  save_sample(folder.path(), 5, GetParam());
  const Weights weights(folder.path("latest"));
  EXPECT_EQ(weights.names().size(), sample_contents(5).weights.size());
  for (const TensorSpec& tensor : sample_contents(5).weights) {
    const at::Tensor values = at::empty({tensor.numel()}, tensor.dtype);
    weights.read(tensor.name, 0, values);
    require_equal(values, sample_values(tensor, 5), tensor.name);
  }
}

TEST(Saver, HashesLargeTensorsPieceByPiece) {
  const TemporaryFolder folder;
  const std::int64_t numel = 3 * kPieceBytes / 4 + 5;
  const Contents contents{.step = 1, .weights = {{"large", at::kFloat, {numel}}}};
  const at::Tensor values = at::arange(numel, at::kFloat);
  comm::run_ranks(2, [&](const comm::Group& group) {
    Saver saver({.folder = folder.path(), .group = group});
    const std::int64_t half = numel / 2;
    const std::int64_t begin = group.rank() * half;
    const std::int64_t count = group.rank() == 0 ? half : numel - half;
    saver.start(contents, {{"large", begin, values.narrow(0, begin, count)}});
    static_cast<void>(saver.wait());
  });
  const Reader reader(folder.path("latest"));
  EXPECT_EQ(reader.find("large")->pieces.size(), 5U);
  const at::Tensor part = at::empty({kPieceBytes / 2}, at::kFloat);
  reader.read("large", 77, part);
  require_equal(part, values.narrow(0, 77, part.numel()), "large");
}

TEST(Saver, SpreadsFilesOverRanks) {
  const TemporaryFolder folder;
  save_sample(folder.path(), 1, 3);
  const Reader reader(folder.path("latest"));
  EXPECT_EQ(reader.manifest().ranks, 3);
  EXPECT_TRUE(fs::exists(folder.path("latest/model-00002-of-00002.safetensors")));
  EXPECT_TRUE(fs::exists(folder.path("latest/model.safetensors.index.json")));
  EXPECT_TRUE(fs::exists(folder.path("latest/state-00001-of-00002.safetensors")));
}

TEST(Saver, RefusesPartsThatLeaveSomethingOut) {
  const TemporaryFolder folder;
  comm::run_ranks(1, [&](const comm::Group& group) {
    Saver saver(sample_options(folder.path(), group));
    const Contents contents = sample_contents(1);
    auto parts = sample_parts(contents, 0, 1);
    parts.erase(parts.begin());
    saver.start(contents, parts);
    EXPECT_THAT(error_of([&] { static_cast<void>(saver.wait()); }),
                HasSubstr("did not save a whole checkpoint"));
    EXPECT_FALSE(saver.busy());
  });
  EXPECT_THAT(folder.names(), ElementsAre());
}

TEST(Saver, RefusesPartsThatTheContentsDoNotHave) {
  const TemporaryFolder folder;
  comm::run_ranks(1, [&](const comm::Group& group) {
    Saver saver(sample_options(folder.path(), group));
    const Contents contents = sample_contents(1);
    const auto error_with = [&](const Part& part) {
      return error_of([&] { saver.start(contents, {part}); });
    };
    EXPECT_THAT(error_with({"embedding", 0, at::zeros({3}, at::kDouble)}),
                HasSubstr("'embedding' has 185 elements of type F32"));
    EXPECT_THAT(error_with({"none", 0, at::zeros({3})}), HasSubstr("no tensor 'none'"));
    EXPECT_FALSE(saver.busy());
  });
  EXPECT_THAT(folder.names(), ElementsAre());
}

class NotContiguous : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Asynchronous, NotContiguous, ::testing::Bool());

TEST_P(NotContiguous, PartsAreRefusedByAllRanks) {
  const TemporaryFolder folder;
  comm::run_ranks(2, [&](const comm::Group& group) {
    SaverOptions options = sample_options(folder.path(), group);
    options.asynchronous = GetParam();
    Saver saver(options);
    const Contents contents = sample_contents(1);
    auto parts = sample_parts(contents, group.rank(), group.size());
    // The same values, but every other element of a larger tensor.
    at::Tensor& values = parts.front().values;
    if (group.rank() == 1) values = at::stack({values, values}, 1).select(1, 0);
    EXPECT_THROW(saver.start(contents, parts), UsageError);
    EXPECT_FALSE(saver.busy());
  });
}

TEST(Saver, ComparesWhatTheDiskGivesBack) {
  const TemporaryFolder folder;
  comm::run_ranks(1, [&](const comm::Group& group) {
    SaverOptions options = sample_options(folder.path(), group);
    // Between writing and reading again somebody else writes to the file.
    options.disk = std::make_shared<FailingDisk>([](Operation operation, const std::string& path) {
      if (operation != Operation::read || !path.ends_with("model.safetensors")) return;
      Disk disk;
      const std::byte other{0xEE};
      disk.write(disk.open(path), fs::file_size(path) - 1, std::span(&other, 1));
    });
    EXPECT_THAT(error_of([&] { save_sample(options, 1); }),
                HasSubstr("other bytes than were written"));
  });
}

class SecuredValues : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Asynchronous, SecuredValues, ::testing::Bool());

TEST_P(SecuredValues, MayChangeBeforeTheyAreSaved) {
  const TemporaryFolder folder;
  comm::run_ranks(2, [&](const comm::Group& group) {
    SaverOptions options = sample_options(folder.path(), group);
    options.asynchronous = GetParam();
    Saver saver(options);
    for (std::int64_t step = 1; step <= 3; ++step) {
      const Contents contents = sample_contents(step);
      const auto parts = sample_parts(contents, group.rank(), group.size());
      saver.start(contents, parts);
      saver.secure();
      for (const Part& part : parts) part.values.zero_();
      require(saver.wait()->step == step, "another step was saved");
    }
  });
  for (std::int64_t step = 1; step <= 3; ++step) {
    require_sample(Reader(path_of_step(folder.path(), step)), step);
  }
}

TEST(AsynchronousSaver, GoesOnWhileADiskIsSlow) {
  const TemporaryFolder folder;
  std::promise<void> may_write;
  const std::shared_future<void> allowed = may_write.get_future().share();
  comm::run_ranks(1, [&](const comm::Group& group) {
    SaverOptions options = sample_options(folder.path(), group);
    options.asynchronous = true;
    options.disk = std::make_shared<FailingDisk>([&](Operation operation, const std::string&) {
      if (operation == Operation::sync) allowed.wait();
    });
    Saver saver(options);
    saver.start(sample_contents(1), sample_parts(sample_contents(1), 0, 1));
    for (int step = 0; step < 10; ++step) EXPECT_FALSE(saver.poll().has_value());
    EXPECT_TRUE(saver.busy());
    EXPECT_FALSE(fs::exists(folder.path("latest")));
    may_write.set_value();
    EXPECT_TRUE(saver.wait().has_value());
    EXPECT_FALSE(saver.wait().has_value());
  });
  require_sample(Reader(folder.path("latest")), 1);
}

TEST(AsynchronousSaver, EndsWithoutBeingWaitedFor) {
  const TemporaryFolder folder;
  comm::run_ranks(2, [&](const comm::Group& group) {
    SaverOptions options = sample_options(folder.path(), group);
    options.asynchronous = true;
    Saver saver(options);
    const Contents contents = sample_contents(1);
    saver.start(contents, sample_parts(contents, group.rank(), group.size()));
  });
  EXPECT_EQ(restored_sample(folder.path()), -1);
}

TEST(Saver, TellsWhenACheckpointIsInItsPlace) {
  const TemporaryFolder folder;
  std::atomic<std::int64_t> told{0};
  comm::run_ranks(2, [&](const comm::Group& group) {
    SaverOptions options = sample_options(folder.path(), group);
    options.published = [&](std::int64_t step) {
      told += fs::exists(path_of_step(folder.path(), step)) ? step : 100;
    };
    save_sample(options, 7);
  });
  EXPECT_EQ(told, 7);
}

}  // namespace
}  // namespace sheaf::checkpoint
