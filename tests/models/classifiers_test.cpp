#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "models/trial_texts.h"
#include "sheaf/models/model.h"
#include "sheaf/optim/adamw.h"
#include "sheaf/optim/plain_slots.h"
#include "support/on_ranks.h"

namespace sheaf::models {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::random_texts;
using testing::seeded_model;

at::Tensor random_images(std::int64_t count) {
  return random_texts({count, 28, 28}, 256).to(at::kByte);
}

class Classifier : public ::testing::TestWithParam<std::string> {
 protected:
  at::Tensor scores(const at::Tensor& images) {
    return sheaf::forward(*model_, images, at::Tensor(), Pass{});
  }
  at::Tensor loss(const at::Tensor& images, const at::Tensor& targets) {
    return sheaf::forward(*model_, images, targets, Pass{});
  }
  std::shared_ptr<Model> model_ = seeded_model({.preset = GetParam()});
};
INSTANTIATE_TEST_SUITE_P(Presets,
                         Classifier,
                         ::testing::Values("mnist-cnn", "mnist-mlp"),
                         [](const auto& tested) { return tested.param.substr(6); });

TEST_P(Classifier, ScoresEveryClass) {
  EXPECT_THAT(scores(random_images(3)).sizes(), ElementsAre(3, 10));
}

TEST_P(Classifier, TakesBytesAndFloatsAlike) {
  const at::Tensor images = random_images(3);
  EXPECT_TRUE(scores(images).allclose(scores(images.to(at::kFloat) / 255), 1e-4, 1e-5));
}

TEST_P(Classifier, LossIsTheSumOverSamples) {
  const at::Tensor images = random_images(4);
  const at::Tensor targets = random_texts({4}, 10);
  const auto both = loss(images, targets).item<double>();
  const auto first = loss(images.narrow(0, 0, 1), targets.narrow(0, 0, 1)).item<double>();
  const auto rest = loss(images.narrow(0, 1, 3), targets.narrow(0, 1, 3)).item<double>();
  EXPECT_NEAR(first + rest, both, 1e-5 * both);
  EXPECT_NEAR(both / 4, std::log(10.0), 0.5);
}

TEST_P(Classifier, LearnsToTellImagesApart) {
  at::Tensor images = at::zeros({4, 28, 28}, at::kByte);
  for (std::int64_t i = 0; i < 4; ++i) images[i].narrow(0, 7 * i, 7).fill_(255);
  const at::Tensor targets = at::arange(4);
  const auto before = loss(images, targets).item<double>();
  optim::AdamW optimizer(optim::plain_slots(model_->named_parameters().pairs()));
  for (int step = 0; step < 8; ++step) {
    loss(images, targets).backward();
    optimizer.step();
  }
  EXPECT_LT(loss(images, targets).item<double>(), 0.7 * before);
}

TEST_P(Classifier, LearnsNothingFromNoImages) {
  const at::Tensor none = loss(random_images(0), at::empty({0}, at::kLong));
  EXPECT_EQ(none.item<double>(), 0);
  none.backward();
  for (const auto& [name, value] : model_->named_parameters().pairs()) {
    ASSERT_TRUE(value.grad().defined()) << name;
    EXPECT_TRUE(value.grad().equal(at::zeros_like(value))) << name;
  }
}

TEST_P(Classifier, StartsAsTorchDoes) {
  const auto parameters = model_->named_parameters();
  const at::Tensor weight = parameters["fc1.weight"];
  const double bound = 1 / std::sqrt(static_cast<double>(weight.size(1)));
  EXPECT_NEAR(weight.std().item<double>(), bound / std::sqrt(3.0), 0.02 * bound);
  EXPECT_LE(weight.abs().max().item<double>(), bound);
  EXPECT_LE(parameters["fc1.bias"].abs().max().item<double>(), bound);
  EXPECT_GT(parameters["fc1.bias"].std().item<double>(), 0.4 * bound);
}

TEST_P(Classifier, RefusesWhatIsNoImage) {
  const auto error_with = [&](const at::Tensor& images, const at::Tensor& targets = {}) {
    return error_of([&] { loss(images, targets); });
  };
  EXPECT_THAT(error_with({}), HasSubstr("got nothing"));
  EXPECT_THAT(error_with(at::zeros({2, 28, 27})), HasSubstr("got Float [2, 28, 27]"));
  EXPECT_THAT(error_with(at::zeros({2, 1, 28, 28})), HasSubstr("[2, 1, 28, 28]"));
  EXPECT_THAT(error_with(at::zeros({2, 28, 28}, at::kLong)), HasSubstr("got Long"));
  EXPECT_THAT(error_with(random_images(2), at::zeros({3}, at::kLong)),
              HasSubstr("targets of 2 samples must be as many int64, got Long [3]"));
  EXPECT_THAT(error_with(random_images(2), at::zeros({2})), HasSubstr("got Float [2]"));
}

TEST(Cnn, HasThreeConvolutionsAndTwoLinearLayers) {
  const auto parameters = seeded_model({.preset = "mnist-cnn"})->named_parameters();
  EXPECT_THAT(parameters.keys(),
              ElementsAre("conv1.weight",
                          "conv1.bias",
                          "conv2.weight",
                          "conv2.bias",
                          "conv3.weight",
                          "conv3.bias",
                          "fc1.weight",
                          "fc1.bias",
                          "fc2.weight",
                          "fc2.bias"));
  EXPECT_THAT(parameters["conv2.weight"].sizes(), ElementsAre(64, 32, 5, 5));
  EXPECT_THAT(parameters["fc1.weight"].sizes(), ElementsAre(1024, 128 * 3 * 3));
}

TEST(Mlp, HasAsManyHiddenLayersAsAskedFor) {
  const auto model = seeded_model({.preset = "mnist-mlp", .layers = 3, .hidden = 20});
  const auto parameters = model->named_parameters();
  EXPECT_EQ(parameters.size(), 8U);
  EXPECT_THAT(parameters["fc1.weight"].sizes(), ElementsAre(20, 784));
  EXPECT_THAT(parameters["fc4.weight"].sizes(), ElementsAre(10, 20));
}

}  // namespace
}  // namespace sheaf::models
