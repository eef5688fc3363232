#include "sheaf/base/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace sheaf {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Recorder, KeepsNothingUntilSomebodyListens) {
  Recorder recorder;
  recorder.add({.kind = SpanKind::forward, .begin = 1, .end = 2});
  EXPECT_THAT(recorder.take(), IsEmpty());
  recorder.listen(true);
  recorder.add({.kind = SpanKind::forward, .begin = 3, .end = 4});
  const auto spans = recorder.take();
  ASSERT_THAT(spans, SizeIs(1));
  EXPECT_EQ(spans[0].begin, 3);
  EXPECT_EQ(spans[0].end, 4);
}

TEST(Recorder, GivesASpanOnce) {
  Recorder recorder;
  recorder.listen(true);
  recorder.add({});
  EXPECT_THAT(recorder.take(), SizeIs(1));
  EXPECT_THAT(recorder.take(), IsEmpty());
}

TEST(Recorder, ForgetsWhatWasNotTakenWhenNobodyListensAnyMore) {
  Recorder recorder;
  recorder.listen(true);
  recorder.add({});
  recorder.listen(false);
  EXPECT_THAT(recorder.take(), IsEmpty());
}

TEST(Recorder, IsTheSameForAllCopies) {
  Recorder recorder;
  Recorder copy = recorder;
  copy.listen(true);
  recorder.add({});
  EXPECT_THAT(copy.take(), SizeIs(1));
}

TEST(Recorder, HasOneLabelForAName) {
  Recorder recorder;
  const Label block = recorder.label("h.0");
  EXPECT_NE(block, recorder.label("h.1"));
  EXPECT_EQ(block, recorder.label("h.0"));
  EXPECT_EQ(recorder.name(block), "h.0");
  EXPECT_EQ(recorder.label(""), Label{0});
  EXPECT_EQ(recorder.name(0), "");
}

TEST(Recorder, KeepsTheSpansOfAllThreads) {
  Recorder recorder;
  recorder.listen(true);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([recorder]() mutable {
      for (int j = 0; j < 1000; ++j) recorder.add({});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(recorder.take(), SizeIs(4000));
}

/// A moment that a device has not come to.
class Unreached final : public Stamp {
 public:
  [[nodiscard]] bool reached() const override { return false; }
  [[nodiscard]] std::int64_t since(const Stamp&) const override { return 0; }
};

TEST(Recorder, HandsOutWhatTheDeviceHasNotReached) {
  Recorder recorder;
  recorder.listen(true);
  const auto stamp = std::make_shared<Unreached>();
  recorder.add({.bytes = 7}, stamp, stamp);
  EXPECT_THAT(recorder.take(Origin{.stamp = stamp}), IsEmpty());
  const auto spans = recorder.take_unread();
  ASSERT_THAT(spans, SizeIs(1));
  EXPECT_EQ(spans[0].span.bytes, 7);
  EXPECT_EQ(spans[0].end, stamp);
  EXPECT_THAT(recorder.take_unread(), IsEmpty());
}

TEST(ScopedSpan, LastsAsLongAsItsScope) {
  Recorder recorder;
  recorder.listen(true);
  const std::int64_t before = Recorder::now();
  { const ScopedSpan span(recorder, {.kind = SpanKind::data}); }
  const std::int64_t after = Recorder::now();
  const auto spans = recorder.take();
  ASSERT_THAT(spans, SizeIs(1));
  EXPECT_EQ(spans[0].kind, SpanKind::data);
  EXPECT_LE(before, spans[0].begin);
  EXPECT_LE(spans[0].begin, spans[0].end);
  EXPECT_LE(spans[0].end, after);
}

// A device whose clock a test sets.
class FakeStamp final : public Stamp {
 public:
  FakeStamp(std::int64_t time, bool is_reached) : is_reached(is_reached), time_(time) {}
  [[nodiscard]] bool reached() const override { return is_reached; }
  [[nodiscard]] std::int64_t since(const Stamp& earlier) const override {
    return time_ - static_cast<const FakeStamp&>(earlier).time_;
  }
  bool is_reached;

 private:
  std::int64_t time_;
};

TEST(Recorder, ReadsADevicesTimesByAMomentThatBothClocksKnow) {
  Recorder recorder;
  recorder.listen(true);
  recorder.add({.kind = SpanKind::collective},
               std::make_shared<FakeStamp>(130, true),
               std::make_shared<FakeStamp>(150, true));
  const Origin origin{.stamp = std::make_shared<FakeStamp>(100, true), .time = 7000};
  const auto spans = recorder.take(origin);
  ASSERT_THAT(spans, SizeIs(1));
  EXPECT_EQ(spans[0].begin, 7030);
  EXPECT_EQ(spans[0].end, 7050);
}

TEST(Recorder, KeepsASpanUntilTheDeviceHasComeToItsEnd) {
  Recorder recorder;
  recorder.listen(true);
  const auto end = std::make_shared<FakeStamp>(150, false);
  recorder.add({}, std::make_shared<FakeStamp>(90, true), end);
  const Origin origin{.stamp = std::make_shared<FakeStamp>(100, true), .time = 7000};
  EXPECT_THAT(recorder.take(origin), IsEmpty());
  end->is_reached = true;
  const auto spans = recorder.take(origin);
  ASSERT_THAT(spans, SizeIs(1));
  EXPECT_EQ(spans[0].begin, 6990);
}

}  // namespace
}  // namespace sheaf
