#include "sheaf/models/cost.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "models/trial_texts.h"
#include "sheaf/models/model.h"
#include "sheaf/module/deferred.h"

namespace sheaf::models {
namespace {

Cost cost_of_preset(const std::string& preset) { return cost_of(resolve({.preset = preset})); }

// Counted by Hugging Face's transformers for the same configurations; tied ones once.
const std::map<std::string, std::int64_t> kCounts{{"gpt2-124m", 124'439'808},
                                                  {"gpt2-350m", 354'823'168},
                                                  {"gpt2-774m", 774'030'080},
                                                  {"gpt2-1558m", 1'557'611'200},
                                                  {"smollm3-3b", 3'075'098'624},
                                                  {"llama-7b", 6'738'415'616},
                                                  {"llama-13b", 13'015'864'320}};

TEST(Cost, CountsTheParametersOfKnownModels) {
  for (const auto& [preset, count] : kCounts) {
    EXPECT_EQ(cost_of_preset(preset).parameters, count) << preset;
  }
}

TEST(Cost, CountsTheParametersThatABuiltModelHas) {
  for (const std::string& preset : preset_names()) {
    const auto model = deferred([&] { return build({.preset = preset}); });
    EXPECT_EQ(model->cost().parameters, testing::num_parameters(*model)) << preset;
  }
}

TEST(Cost, OfLayersAddsUpToTheWhole) {
  for (const std::string& preset : preset_names()) {
    const Cost cost = cost_of_preset(preset);
    std::int64_t parameters = 0;
    double forward = 0;
    for (const LayerCost& layer : cost.layers) {
      parameters += layer.parameters;
      forward += layer.forward_flops;
    }
    EXPECT_EQ(parameters, cost.parameters) << preset;
    EXPECT_EQ(3 * forward, cost.training_flops()) << preset;
  }
}

// By hand, for d 8, hidden 32, V 11, T 5.
TEST(Cost, OfGpt2IsThatOfItsProducts) {
  const Cost cost = cost_of(resolve({.preset = "gpt2-tiny",
                                     .layers = 1,
                                     .width = 8,
                                     .heads = 2,
                                     .vocabulary = 11,
                                     .context = 5}));
  ASSERT_EQ(cost.layers.size(), 4U);
  EXPECT_EQ(cost.layers[0].name, "embedding");
  EXPECT_EQ(cost.layers[0].parameters, 11 * 8 + 5 * 8);
  EXPECT_EQ(cost.layers[0].forward_flops, 0);
  EXPECT_EQ(cost.layers[1].name, "transformer.h.0.attn");
  EXPECT_EQ(cost.layers[1].parameters, 16 + (8 * 24 + 24) + (8 * 8 + 8));
  EXPECT_EQ(cost.layers[1].forward_flops, 2 * (8 * 24 + 8 * 8) + 4 * 5 * 8);
  EXPECT_EQ(cost.layers[2].parameters, 16 + (8 * 32 + 32) + (32 * 8 + 8));
  EXPECT_EQ(cost.layers[2].forward_flops, 2 * (8 * 32 + 32 * 8));
  EXPECT_EQ(cost.layers[3].name, "head");
  EXPECT_EQ(cost.layers[3].forward_flops, 2 * 8 * 11);
  EXPECT_EQ(cost.rule_flops, 6.0 * static_cast<double>(cost.parameters) + 12 * 1 * 8 * 5);
}

TEST(Cost, OfGroupedHeadsIsSmaller) {
  const Cost cost = cost_of(resolve({.preset = "llama-tiny",
                                     .layers = 1,
                                     .width = 8,
                                     .heads = 2,
                                     .kv_heads = 1,
                                     .hidden = 20,
                                     .vocabulary = 11,
                                     .context = 5}));
  ASSERT_EQ(cost.layers.size(), 4U);
  EXPECT_EQ(cost.layers[1].name, "model.layers.0.self_attn");
  EXPECT_EQ(cost.layers[1].parameters, 8 + 2 * 8 * 8 + 2 * 8 * 4);
  EXPECT_EQ(cost.layers[1].forward_flops, 2 * (2 * 8 * 8 + 2 * 8 * 4) + 4 * 5 * 8);
  EXPECT_EQ(cost.layers[2].parameters, 8 + 3 * 8 * 20);
  EXPECT_EQ(cost.layers[3].parameters, 8 + 11 * 8);  // the head is not tied
}

TEST(Cost, OfTheCnnIsThatOfItsProducts) {
  const Cost cost = cost_of(resolve({.preset = "mnist-cnn", .hidden = 50}));
  ASSERT_EQ(cost.layers.size(), 5U);
  EXPECT_EQ(cost.layers[0].parameters, 25 * 32 + 32);
  EXPECT_EQ(cost.layers[0].forward_flops, 2.0 * 25 * 32 * 28 * 28);
  EXPECT_EQ(cost.layers[2].forward_flops, 2.0 * 25 * 64 * 128 * 7 * 7);
  EXPECT_EQ(cost.layers[3].parameters, 128 * 9 * 50 + 50);
  EXPECT_EQ(cost.layers[4].forward_flops, 2 * 50 * 10);
  EXPECT_EQ(cost.rule_flops, cost.training_flops());
}

// What the reports of this project divide by: 6N + 12 L d T with all parameters in N.
TEST(Cost, RuleOfGpt2LargeIsTheReportsNumber) {
  EXPECT_EQ(cost_of_preset("gpt2-774m").rule_flops, 6.0 * 774'030'080 + 12.0 * 36 * 1280 * 1024);
}

}  // namespace
}  // namespace sheaf::models
