// Part of the program that counts tensors from the start.
#include "sheaf/memory/holders.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "sheaf/memory/cpu_usage.h"
#include "sheaf/memory/limit.h"
#include "sheaf/memory/timeline.h"

namespace sheaf::memory {
namespace {

using ::testing::HasSubstr;

at::Tensor byte_tensor(std::int64_t count) { return at::empty({count}, at::kByte); }

std::int64_t held_by(const std::vector<Holder>& holders, Purpose purpose, std::string_view owner) {
  std::int64_t bytes = 0;
  for (const Holder& holder : holders) {
    if (holder.purpose == purpose && holder.owner == owner) bytes += holder.bytes.count;
  }
  return bytes;
}

std::int64_t held_by(Purpose purpose, std::string_view owner) {
  return held_by(cpu_holders(), purpose, owner);
}

TEST(Holders, AreThoseWhoMadeTensors) {
  const HeldFor outer(Purpose::activations, "block 1");
  const at::Tensor one = byte_tensor(100);
  at::Tensor two;
  {
    const HeldFor inner(Purpose::gathered, "block 2");
    two = byte_tensor(1000);
  }
  const at::Tensor three = byte_tensor(10);
  EXPECT_EQ(held_by(Purpose::activations, "block 1"), 110);
  EXPECT_EQ(held_by(Purpose::gathered, "block 2"), 1000);
  two.reset();
  EXPECT_EQ(held_by(Purpose::gathered, "block 2"), 0);
}

TEST(Holders, AreToldApartByThread) {
  const HeldFor here(Purpose::activations, "this thread");
  at::Tensor theirs;
  std::thread([&] { theirs = byte_tensor(64); }).join();
  EXPECT_EQ(held_by(Purpose::activations, "this thread"), 0);
}

TEST(Holders, AddUpToWhatIsInUse) {
  const HeldFor someone(Purpose::optimizer, "someone");
  const at::Tensor tensor = byte_tensor(4096);
  EXPECT_EQ(by_purpose(cpu_holders()).total(), cpu_usage().current);
}

TEST(CountShared, CountsMemoryOfOthersAsOurs) {
  std::vector<std::uint8_t> memory(500);
  const std::int64_t before = cpu_usage().current.count;
  const HeldFor someone(Purpose::parameters, "shared");
  at::Tensor counted =
      count_shared(at::from_blob(memory.data(), {500}, at::TensorOptions().dtype(at::kByte)));
  EXPECT_EQ(counted.data_ptr(), memory.data());
  EXPECT_EQ(cpu_usage().current.count - before, 500);
  EXPECT_EQ(held_by(Purpose::parameters, "shared"), 500);
  counted.reset();
  EXPECT_EQ(cpu_usage().current.count, before);
}

TEST(CountShared, CountsNothingTwice) {
  const at::Tensor tensor = byte_tensor(500);
  EXPECT_TRUE(count_shared(tensor).is_same(tensor));
}

TEST(Limit, RefusesWhatIsBeyondAndSaysWhoHoldsWhat) {
  const HeldFor someone(Purpose::activations, "block 7");
  const at::Tensor kept = byte_tensor(1 << 20);
  limit_cpu_tensors({cpu_usage().current.count + 1000});
  const at::Tensor fits = byte_tensor(900);
  try {
    const at::Tensor more = byte_tensor(200);
    FAIL() << "made a tensor beyond the limit";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.facts().wanted, Bytes{200});
    EXPECT_GE(held_by(error.facts().holders, Purpose::activations, "block 7"), 1 << 20);
    EXPECT_THAT(error.what(), HasSubstr("out of memory: 200 B more do not fit"));
  }
}

TEST(Limit, EndsWithItsFirstRefusal) {
  limit_cpu_tensors({cpu_usage().current.count + 10});
  EXPECT_THROW((void)byte_tensor(100), OutOfMemory);
  EXPECT_NO_THROW((void)byte_tensor(100));
}

TEST(Limit, CanPause) {
  limit_cpu_tensors({cpu_usage().current.count + 10});
  {
    const LimitPause pause;
    { const LimitPause another; }
    EXPECT_NO_THROW((void)byte_tensor(100));
  }
  EXPECT_THROW((void)byte_tensor(100), OutOfMemory);
}

TEST(OutOfMemory, IsWhatTheSystemRefuses) {
  // No address space has room for so much.
  constexpr std::int64_t kTooMuch = std::int64_t{1} << 60;
  const HeldFor someone(Purpose::activations, "block 8");
  const at::Tensor small = byte_tensor(100);
  try {
    const at::Tensor large = byte_tensor(kTooMuch);
    FAIL() << "made a tensor of an EiB";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.facts().wanted, Bytes{kTooMuch});
    EXPECT_EQ(error.facts().limit, Bytes{0});
    EXPECT_EQ(held_by(error.facts().holders, Purpose::activations, "block 8"), 100);
    EXPECT_THAT(error.what(), HasSubstr("in use; no memory limit was set"));
  }
}

TEST(OutOfMemory, KeepsItsFactsWithAPrefix) {
  const OutOfMemory error({.wanted = {1}, .in_use = {2}, .limit = {2}, .holders = {}});
  try {
    std::rethrow_exception(error.with_prefix("rank 2: "));
  } catch (const OutOfMemory& prefixed) {
    EXPECT_EQ(std::string(prefixed.what()), std::string("rank 2: ") + error.what());
    EXPECT_EQ(prefixed.facts().limit, Bytes{2});
  }
}

TEST(Timeline, FindsThePeakAndWhatItConsistedOf) {
  const at::Tensor before = byte_tensor(50);
  start_timeline();
  const HeldFor someone(Purpose::activations, "peak of a timeline");
  at::Tensor one = byte_tensor(3000);
  byte_tensor(5000).reset();
  one.reset();
  const at::Tensor later = byte_tensor(4000);
  const Timeline timeline = stop_timeline();
  const Moment peak = peak_of(timeline);
  EXPECT_EQ(held_by(peak.holders, Purpose::activations, "peak of a timeline"), 8000);
  EXPECT_EQ(timeline.events.size(), 5U);
}

TEST(Timeline, IsSampledByTheHighestMomentOfEachSpan) {
  Timeline timeline{.start = {{Purpose::parameters, "", {100}}, {Purpose::temporary, "", {0}}},
                    .events = {{Seconds(1), 1, {10}},
                               {Seconds(2), 1, {-10}},
                               {Seconds(6), 1, {30}},
                               {Seconds(8), 1, {-20}}}};
  const auto moments = sampled(timeline, 4);
  ASSERT_EQ(moments.size(), 4U);
  EXPECT_EQ(moments[0].purposes.total(), Bytes{110});
  EXPECT_EQ(moments[1].purposes.total(), Bytes{100});
  EXPECT_EQ(moments[2].purposes.total(), Bytes{130});
  EXPECT_EQ(moments[2].purposes[Purpose::temporary], Bytes{30});
  EXPECT_EQ(moments[3].purposes.total(), Bytes{130});
}

}  // namespace
}  // namespace sheaf::memory
