// What holds for every model, whatever it is for.
#include "sheaf/models/model.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "models/trial_texts.h"
#include "sheaf/module/deferred.h"

namespace sheaf::models {
namespace {

using testing::seeded_model;

// Small enough to be given their values.
constexpr std::array kSmall{"gpt2-tiny", "smollm3-tiny", "llama-tiny", "mnist-cnn", "mnist-mlp"};

std::shared_ptr<Model> deferred_model(const std::string& preset) {
  return deferred([&] { return build({.preset = preset}); });
}

TEST(Build, CanBeDeferredForEveryPreset) {
  for (const std::string& preset : preset_names()) {
    const auto model = deferred_model(preset);
    for (const auto& item : model->named_parameters()) {
      // Constants of less than 256 KiB are not worth it.
      const bool drawn = item.value().dim() > 1;
      EXPECT_TRUE(!drawn || module::is_deferred(item.value())) << preset << ": " << item.key();
    }
  }
}

TEST(Build, GivesTheSameValuesUnderTheSameSeed) {
  for (const std::string preset : kSmall) {
    const auto one = seeded_model({.preset = preset}, 11);
    const auto two = seeded_model({.preset = preset}, 11);
    const auto other = seeded_model({.preset = preset}, 12);
    for (const auto& [name, value] : one->named_parameters().pairs()) {
      EXPECT_TRUE(value.equal(two->named_parameters()[name])) << preset << ": " << name;
      const bool differs = !value.equal(other->named_parameters()[name]);
      EXPECT_TRUE(differs || value.dim() == 1) << preset << ": " << name;
    }
  }
}

// Parameter by parameter, as a rank fills its part, gives what materialize() gives.
TEST(Build, GivesTheSameValuesHoweverItIsFilled) {
  for (const std::string preset : kSmall) {
    const auto whole = seeded_model({.preset = preset}, 11);
    const auto waiting = deferred_model(preset);
    for (const auto& [name, value] : waiting->named_parameters().pairs()) {
      const at::Tensor target = at::empty(value.sizes());
      module::fill_deferred(value, target, 11, name);
      EXPECT_TRUE(target.equal(whole->named_parameters()[name])) << preset << ": " << name;
    }
  }
}

TEST(Build, DeferredOrNotDrawsFromTheSameDistribution) {
  for (const std::string preset : kSmall) {
    at::manual_seed(5);
    const auto plain = build({.preset = preset});
    const auto filled = seeded_model({.preset = preset});
    ASSERT_EQ(plain->named_parameters().keys(), filled->named_parameters().keys());
    for (const auto& [name, value] : plain->named_parameters().pairs()) {
      const at::Tensor other = filled->named_parameters()[name];
      ASSERT_EQ(value.sizes(), other.sizes()) << name;
      if (value.numel() < 10000) continue;
      const auto deviation = value.std().item<double>();
      EXPECT_NEAR(other.std().item<double>(), deviation, 0.05 * deviation)
          << preset << ": " << name;
    }
  }
}

TEST(Build, MakesParametersThatNobodyElseHolds) {
  for (const std::string preset : kSmall) {
    const auto model = seeded_model({.preset = preset});
    for (const auto& item : model->named_parameters()) {
      // The module's member, its list of parameters, and the list that was made here.
      EXPECT_LE(item.value().use_count(), 3U) << preset << ": " << item.key();
    }
  }
}

}  // namespace
}  // namespace sheaf::models
