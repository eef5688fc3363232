// What set_up_process() does to threads: denormals, with which processors compute many times
// slower, are 0 on all of them, and ranks share the cores of their machine.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <future>
#include <memory>

#include "base/cores.h"
#include "comm/lane.h"
#include "sheaf/comm/run_ranks.h"
#include "sheaf/data/loader.h"
#include "sheaf/train/trainer.h"

namespace sheaf::train {
namespace {

constexpr float kDenormal = 1e-39F;

/// Whether the thread that calls it flushes denormals; the compiler must not know the product.
bool flushes() {
  const volatile float number = kDenormal;
  const volatile float one = 1;
  return number * one == 0;
}

/// What is done to a thread is undone on the main one, for those who run all tests in one process.
class Denormals : public testing::Test {
 protected:
  Denormals() { at::globalContext().setFlushDenormal(false); }
};

/// Elements whose bits are not those of 0, whatever the thread that counts takes for 0.
std::int64_t num_left(const at::Tensor& numbers) {
  return numbers.view(at::kInt).count_nonzero().item<std::int64_t>();
}

// The first test, while OpenMP's threads are as they come.
TEST_F(Denormals, AreZeroOnThreadsOfOperatorsThatWereThereBefore) {
  at::set_num_threads(2);
  const at::Tensor many = at::full({1 << 20}, kDenormal);
  EXPECT_EQ(num_left(many * 1.0F), many.numel());
  set_up_process({});
  EXPECT_EQ(num_left(many * 1.0F), 0);
}

TEST_F(Denormals, AreZeroOnTheThreadThatSetsUp) {
  EXPECT_FALSE(flushes());
  set_up_process({});
  EXPECT_TRUE(flushes());
}

TEST_F(Denormals, AreZeroInBackward) {
  set_up_process({});
  bool flushed = false;
  const at::Tensor x = at::ones({1}).requires_grad_();
  x.register_hook([&](const at::Tensor& /*gradient*/) { flushed = flushes(); });
  (x * x).sum().backward();
  EXPECT_TRUE(flushed);
}

/// Whether a task flushes that nobody waits for, so that the lane's own thread runs it.
bool flushes_on(comm::Lane& lane) {
  std::promise<bool> flushed;
  const auto task = lane.submit([&] { flushed.set_value(flushes()); });
  const bool found = flushed.get_future().get();
  lane.wait(*task);
  return found;
}

TEST_F(Denormals, AreZeroOnACommunicationThreadThatWasThereBefore) {
  comm::Lane lane;
  EXPECT_FALSE(flushes_on(lane));
  set_up_process({});
  EXPECT_TRUE(flushes_on(lane));
}

// Gloo adds up on threads of its own, which are there as soon as the group is.
TEST_F(Denormals, AreZeroInSumsOfGloo) {
  comm::run_ranks(2,
                  [](const comm::Group& world) {
                    const at::Tensor sum = at::full({1000}, kDenormal);
                    world.all_reduce(sum).wait();
                    EXPECT_EQ(num_left(sum), 0);
                  },
                  {.backend = comm::BackendKind::gloo});
}

/// Two samples that nobody looks at.
class Watching final : public data::Dataset {
 public:
  [[nodiscard]] std::int64_t size() const override { return 2; }
  [[nodiscard]] std::int64_t targets_per_sample() const override { return 1; }
  [[nodiscard]] data::Rows make_batch(std::int64_t count) const override {
    return {.inputs = at::zeros({count}, at::kLong), .targets = at::zeros({count}, at::kLong)};
  }
  void fill(std::int64_t /*index*/,
            std::int64_t /*row*/,
            const data::Rows& /*rows*/) const override {
    flushed = flushes();
  }
  mutable std::atomic<bool> flushed = false;
};

TEST_F(Denormals, AreZeroOnALoadersWorker) {
  set_up_process({});
  const auto dataset = std::make_shared<Watching>();
  data::Loader loader(dataset, {.workers = 1});
  static_cast<void>(loader.next());
  EXPECT_TRUE(dataset->flushed);
}

/// Ends this process, a rank of two on this machine, with the number of its threads.
void leave_with_threads(bool are_given) {
  ::setenv("RANK", "0", 1);
  ::setenv("WORLD_SIZE", "2", 1);
  ::setenv("LOCAL_WORLD_SIZE", "2", 1);
  ::setenv("MASTER_PORT", "29500", 1);
  ::setenv("OMP_NUM_THREADS", "3", 1);
  if (!are_given) ::unsetenv("OMP_NUM_THREADS");
  at::set_num_threads(3);
  set_up_process({});
  std::_Exit(at::get_num_threads());
}

TEST(SetUpProcessDeathTest, SharesTheCoresWithTheOtherRanksOfThisMachine) {
  const int share = std::max(1, usable_cores() / 2);
  EXPECT_EXIT(leave_with_threads(/*are_given=*/false), testing::ExitedWithCode(share), "");
}

TEST(SetUpProcessDeathTest, KeepsTheThreadsThatAreGiven) {
  EXPECT_EXIT(leave_with_threads(/*are_given=*/true), testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace sheaf::train
