// What zero3 says of a model that does not do the same in every pass, or goes around its blocks.
#include <gtest/gtest.h>

#include "sharding/tower.h"
#include "sharding/trial_models.h"
#include "support/on_ranks.h"

namespace sheaf::testing {
namespace {

using sharding::Wake;

constexpr int kRanks = 3;

/// Returns what all ranks together write to the log.
std::string log_of(const std::function<void(const comm::Group&)>& body) {
  ::testing::internal::CaptureStderr();
  on_ranks(Way::shared_threads, kRanks, body);
  return ::testing::internal::GetCapturedStderr();
}

std::string order_changed(const std::string& unit) {
  return "[0] info sharding: the order of units changed at \"" + unit +
         "\": learning it again (said once)\n";
}

std::string used_outside(const std::string& unit) {
  return "[0] warning sharding: unit \"" + unit +
         "\" is used outside of sheaf::forward: gathered on touch from now on, at about a "
         "microsecond per operator\n";
}

TEST(OrderOfUnits, IsSaidOnceByRankZeroToHaveChanged) {
  for (const Wake wake : {Wake::touch, Wake::boundary}) {
    const std::string log = log_of([&](const comm::Group& world) {
      Session session({}, {.group = world, .wake = wake});
      session.steps(2);
      session.model().order = {0, 2, 1, 3};
      session.steps(2);
      session.model().order = {3, 0, 1, 2};
      session.steps(2);
    });
    EXPECT_EQ(log, order_changed("blocks.2"));
  }
}

TEST(OrderOfUnits, IsNotSaidToHaveChangedWhereItIsTheSame) {
  for (const Wake wake : {Wake::touch, Wake::boundary}) {
    const std::string log = log_of([&](const comm::Group& world) {
      Session session({}, {.group = world, .wake = wake});
      session.steps(3);
      session.evaluate();
      session.steps(2);
    });
    EXPECT_EQ(log, "");
  }
}

/// Computes with the weights of two of its layers outside of these, too.
struct Decayed final : Stack {
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    const at::Tensor loss = Stack::loss(inputs, targets);
    const at::Tensor decay = second->weight.square().sum() + head->weight.square().sum();
    return loss + 0.1 * decay * static_cast<double>(inputs.size(0));
  }
};

/// Trains on one of the ranks and returns all values.
sharding::NamedTensors train(const Trial& trial, const comm::Group& world, Wake wake) {
  return train_sharded(trial, {.group = world, .wake = wake});
}

TEST(UseOutsideOfForward, IsSaidOncePerUnitByRankZero) {
  for (const Wake wake : {Wake::automatic, Wake::boundary}) {
    const std::string log = log_of([&](const comm::Group& world) {
      static_cast<void>(train(trial_of<Decayed>(), world, wake));
    });
    EXPECT_EQ(log, used_outside("second") + used_outside("head"));
  }
}

/// Looks at weights outside of their layers, but only in its second pass; nothing depends on it.
struct LooksLater final : Stack {
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    const at::Tensor loss = Stack::loss(inputs, targets);
    if (++passes == 2) static_cast<void>(second->weight.detach().norm());
    return loss;
  }
  int passes = 0;
};

TEST(UseOutsideOfForward, IsSaidWhereItBeginsInTheSecondPass) {
  const std::string log = log_of([&](const comm::Group& world) {
    static_cast<void>(train(trial_of<LooksLater>(), world, Wake::automatic));
  });
  EXPECT_EQ(log, used_outside("second") + order_changed("second"));
}

TEST(UseOutsideOfForward, IsNotSaidWhereEveryOperatorIsWatched) {
  const std::string log = log_of([&](const comm::Group& world) {
    static_cast<void>(train(trial_of<Decayed>(), world, Wake::touch));
  });
  EXPECT_EQ(log, "");
}

TEST(UseOutsideOfForward, TrainsAsOneRank) {
  const auto expected = train_alone(trial_of<Decayed>());
  static_cast<void>(log_of([&](const comm::Group& world) {
    for (const Wake wake : {Wake::automatic, Wake::boundary}) {
      require_close(train(trial_of<Decayed>(), world, wake), expected, 1e-9, "used outside");
    }
  }));
}

TEST(UseOutsideOfForward, DoesNotChangeOneBitWhereItOnlyLooks) {
  static_cast<void>(log_of([&](const comm::Group& world) {
    const auto actual = train(trial_of<LooksLater>(), world, Wake::automatic);
    for (const auto& [name, value] : train(trial_of<Stack>(), world, Wake::automatic)) {
      require_equal(actual.at(name), value, name);
    }
  }));
}

}  // namespace
}  // namespace sheaf::testing
