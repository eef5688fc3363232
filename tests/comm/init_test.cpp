#include "sheaf/comm/init.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "comm/compat.h"
#include "comm/store/sockets.h"
#include "comm/world.h"
#include "sheaf/base/error.h"
#include "support/on_ranks.h"

namespace sheaf::comm {
namespace {

using sheaf::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Sets variables of the environment while it lives.
class Variables {
 public:
  explicit Variables(std::vector<std::pair<std::string, std::string>> values)
      : values_(std::move(values)) {
    for (const auto& [name, value] : values_) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() {
    for (const auto& [name, value] : values_) unsetenv(name.c_str());
  }

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

TEST(Init, IsOneRankWithoutALauncher) {
  const Group group = init();
  EXPECT_EQ(group.size(), 1);
  EXPECT_EQ(group.backend(), "shared");
  const at::Tensor tensor = at::ones({3});
  group.all_reduce(tensor, {.scale = 2}).wait();
  EXPECT_TRUE(tensor.equal(at::full({3}, 2.0)));
}

TEST(Init, TakesTheBackendItIsTold) {
  EXPECT_EQ(init({.backend = BackendKind::gloo}).backend(), "gloo");
  EXPECT_EQ(init({.backend = BackendKind::fake}).backend(), "fake");
}

TEST(Init, RefusesBackendsThatDoNotFitTheDevice) {
  EXPECT_THAT(error_of([] { static_cast<void>(init({.backend = BackendKind::nccl})); }),
              HasSubstr("nccl backend is for CUDA"));
  EXPECT_THAT(error_of([] { static_cast<void>(init({.backend = BackendKind::one_gpu})); }),
              HasSubstr("one_gpu backend is for CUDA"));
  EXPECT_THAT(
      error_of([] {
        static_cast<void>(init({.backend = BackendKind::shared, .device = DeviceKind::cuda}));
      }),
      HasSubstr("shared backend is for the CPU"));
}

TEST(Init, NamesTheRanksThatDidNotArrive) {
  const std::string folder = ::testing::TempDir() + "/sheaf-missing-" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  const Variables variables({{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_PORT", "1"}});
  EXPECT_EQ(error_of([&] {
              static_cast<void>(init({.store = StoreKind::file,
                                      .store_path = folder + "/store",
                                      .join_timeout = Seconds(0.5)}));
            }),
            "3 of 4 ranks did not arrive within 500.0 ms: 0, 2, 3");
  std::filesystem::remove_all(folder);
}

TEST(Init, SaysWhereRankZeroWasExpected) {
  const Variables variables({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "1"}});
  EXPECT_THAT(error_of([] { static_cast<void>(init({.join_timeout = Seconds(0.5)})); }),
              AllOf(HasSubstr("rank 0 did not answer at 127.0.0.1:1")));
}

TEST(Init, SaysThatThePortIsTaken) {
  // Somebody else holds a port; rank 0 then cannot have it.
  const auto taken = store::listen_at({}, store::Reach::this_machine);
  const auto port = taken.address.port;
  const Variables variables(
      {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", std::to_string(port)}});
  EXPECT_THAT(error_of([] { static_cast<void>(init({.join_timeout = Seconds(2)})); }),
              AllOf(HasSubstr("rank 0 cannot serve its peers"), HasSubstr("MASTER_PORT")));
}

TEST(Init, NeedsAPathForAFileStore) {
  const Variables variables({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "1"}});
  EXPECT_THAT(error_of([] { static_cast<void>(init({.store = StoreKind::file})); }),
              HasSubstr("comm.store_path"));
}

TEST(Init, MayBeCalledTwice) {
  const std::string folder = ::testing::TempDir() + "/sheaf-twice-" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  const auto outcomes = run_ranks_forked(2, [&](const Group& world) {
    const Place place{.rank = world.rank(), .size = 2};
    const auto store = compat::file_store(folder + "/store", 2, Seconds(30));
    for (int round = 0; round < 2; ++round) {
      const Group again = form_world(place, store, {});
      const at::Tensor tensor = at::ones({1});
      again.all_reduce(tensor).wait();
      sheaf::testing::require(tensor.item<int>() == 2, "sum");
    }
  });
  for (const auto& outcome : outcomes) EXPECT_EQ(outcome.error, "");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sheaf::comm
