#include "sharding/unit_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn.h>

#include <map>
#include <set>

#include "sheaf/base/error.h"
#include "support/on_ranks.h"

namespace sheaf::sharding {
namespace {

using ::sheaf::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace nn = torch::nn;

struct LayerImpl : nn::Module {
  LayerImpl() {
    up = register_module("up", nn::Linear(nn::LinearOptions(4, 8).bias(false)));
    down = register_module("down", nn::Linear(nn::LinearOptions(8, 4).bias(false)));
  }
  nn::Linear up{nullptr}, down{nullptr};
};
TORCH_MODULE(Layer);

/// A parameter under a name of its own, as a tied head has it.
struct HolderImpl : nn::Module {
  explicit HolderImpl(const at::Tensor& value) { register_parameter("weight", value); }
};
TORCH_MODULE(Holder);

/// An embedding (20 elements), two layers (64 each), a norm (4 + 4).
struct Net : nn::Module {
  Net() {
    tokens = register_module("tokens", nn::Embedding(5, 4));
    layers = register_module("layers", nn::ModuleList());
    for (int i = 0; i < 2; ++i) layers->push_back(Layer());
    norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({4})));
  }
  nn::Embedding tokens{nullptr};
  nn::ModuleList layers{nullptr};
  nn::LayerNorm norm{nullptr};
};

using Plan = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// Returns the names of the units with those of their parameters.
Plan plan(const nn::Module& model,
          const ShardOptions& options,
          const std::vector<std::string>& claimed = {}) {
  const Inventory inventory = take_inventory(model);
  std::vector<BlockClaim> claims;
  for (std::size_t m = 0; m < inventory.modules.size(); ++m) {
    if (std::count(claimed.begin(), claimed.end(), inventory.modules[m].name) == 0) continue;
    claims.push_back({.module = m, .options = {}});
  }
  Plan named;
  for (const UnitPlan& unit : plan_units(inventory, options, claims)) {
    named.emplace_back(unit.name, std::vector<std::string>{});
    for (const std::size_t p : unit.parameters) {
      named.back().second.push_back(inventory.parameters[p].name);
    }
  }
  return named;
}

std::vector<std::string> unit_names(const Plan& plan) {
  std::vector<std::string> names;
  for (const auto& unit : plan) names.push_back(unit.first);
  return names;
}

const Plan kByLayer{{"layers.0", {"layers.0.up.weight", "layers.0.down.weight"}},
                    {"layers.1", {"layers.1.up.weight", "layers.1.down.weight"}},
                    {"(root)", {"tokens.weight", "norm.weight", "norm.bias"}}};

TEST(UnitPlan, PutsWholeParametersInOneUnitLastLayersFirst) {
  EXPECT_EQ(plan(Net(), {.stage = Stage::ddp, .policy = Policy::flat}),
            (Plan{{"flat",
                   {"norm.bias",
                    "norm.weight",
                    "layers.1.down.weight",
                    "layers.1.up.weight",
                    "layers.0.down.weight",
                    "layers.0.up.weight",
                    "tokens.weight"}}}));
}

TEST(UnitPlan, FillsBucketsWithTheLastLayersFirst) {
  const layout::BucketOptions buckets{.cap = {256}, .first_cap = {32}};
  EXPECT_EQ(plan(Net(), {.stage = Stage::zero2, .buckets = buckets}),
            (Plan{{"bucket 0", {"norm.bias", "norm.weight"}},
                  {"bucket 1", {"layers.1.down.weight", "layers.1.up.weight"}},
                  {"bucket 2", {"layers.0.down.weight", "layers.0.up.weight"}},
                  {"bucket 3", {"tokens.weight"}}}));
}

TEST(UnitPlan, LeavesFrozenParametersOutWhereParametersAreWhole) {
  const Net net;
  net.tokens->weight.set_requires_grad(false);
  const Plan units = plan(net, {.stage = Stage::ddp, .policy = Policy::flat});
  EXPECT_EQ(units.front().second.size(), 6);
  EXPECT_EQ(units.front().second.back(), "layers.0.up.weight");
}

TEST(UnitPlan, HasNoUnitsWhereAllIsFrozenAndWhole) {
  const Net net;
  for (const auto& item : net.named_parameters()) item.value().set_requires_grad(false);
  EXPECT_TRUE(plan(net, {.stage = Stage::ddp}).empty());
}

TEST(UnitPlan, CutsFrozenParametersToo) {
  const Net net;
  for (const auto& item : net.named_parameters()) item.value().set_requires_grad(false);
  EXPECT_EQ(plan(net, {}), kByLayer);
}

TEST(UnitPlan, TakesSiblingsOfOneTypeForBlocks) { EXPECT_EQ(plan(Net(), {}), kByLayer); }

TEST(UnitPlan, PutsEverythingInTheRootWhenFlat) {
  const Plan units = plan(Net(), {.policy = Policy::flat});
  ASSERT_EQ(unit_names(units), std::vector<std::string>{"(root)"});
  EXPECT_EQ(units.front().second.size(), 7);
}

TEST(UnitPlan, RefusesToChooseModulesWhenFlat) {
  const ShardOptions named{.policy = Policy::flat, .wrap = {.names = {"layers.0"}}};
  EXPECT_THROW(plan(Net(), named), UsageError);
  EXPECT_THROW(plan(Net(), {.policy = Policy::flat, .wrap = {.min_parameters = 5}}), UsageError);
  EXPECT_THROW(plan(Net(), {.policy = Policy::flat}, {"layers.1"}), UsageError);
}

TEST(UnitPlan, KnowsTypesByTheirShortAndFullNames) {
  EXPECT_EQ(plan(Net(), {.wrap = {.types = {"Layer"}}}), kByLayer);
  EXPECT_EQ(plan(Net(), {.wrap = {.types = {"LayerImpl"}}}), kByLayer);
  const auto linears =
      ElementsAre("layers.0.up", "layers.0.down", "layers.1.up", "layers.1.down", "(root)");
  EXPECT_THAT(unit_names(plan(Net(), {.wrap = {.types = {"torch::nn::Linear"}}})), linears);
  EXPECT_THAT(unit_names(plan(Net(), {.wrap = {.types = {"torch::nn::LinearImpl"}}})), linears);
}

TEST(UnitPlan, TakesPartsOfANameForNoType) {
  EXPECT_THAT(error_of([] { static_cast<void>(plan(Net(), {.wrap = {.types = {"ayer"}}})); }),
              HasSubstr("the model has no module of type \"ayer\""));
}

TEST(UnitPlan, AcceptsATypeWhoseModulesAreChosenAlready) {
  EXPECT_EQ(plan(Net(), {.wrap = {.types = {"Layer"}}}, {"layers.0", "layers.1"}), kByLayer);
  EXPECT_EQ(plan(Net(), {.wrap = {.types = {"Layer", "LayerImpl"}}}), kByLayer);
}

TEST(UnitPlan, TakesModulesByName) {
  EXPECT_THAT(unit_names(plan(Net(), {.wrap = {.names = {"norm", "layers.1.up"}}})),
              ElementsAre("layers.1.up", "norm", "(root)"));
}

TEST(UnitPlan, SuggestsANameForAnUnknownOne) {
  EXPECT_EQ(error_of([] { static_cast<void>(plan(Net(), {.wrap = {.names = {"layer"}}})); }),
            "wrap.names: the model has no module \"layer\"; did you mean \"layers\"?");
}

TEST(UnitPlan, TakesModulesBySizeInnerOnesFirst) {
  EXPECT_THAT(
      unit_names(plan(Net(), {.wrap = {.min_parameters = 32}})),
      ElementsAre("layers.0.up", "layers.0.down", "layers.1.up", "layers.1.down", "(root)"));
  EXPECT_EQ(plan(Net(), {.wrap = {.min_parameters = 64}}), kByLayer);
  EXPECT_THAT(unit_names(plan(Net(), {.wrap = {.min_parameters = 65}})),
              ElementsAre("layers", "(root)"));
}

TEST(UnitPlan, DoesNotCountForAModuleWhatOthersInsideItHaveTaken) {
  // Besides layers.0, "layers" has 64 elements left.
  EXPECT_THAT(unit_names(plan(Net(), {.wrap = {.min_parameters = 65}}, {"layers.0"})),
              ElementsAre("layers.0", "(root)"));
}

TEST(UnitPlan, PrefersClaimedBlocksToRepeatedOnes) {
  EXPECT_THAT(unit_names(plan(Net(), {}, {"layers.1"})), ElementsAre("layers.1", "(root)"));
}

TEST(UnitPlan, TakesReshardingFromTheClaimElseFromTheOptions) {
  const Net net;
  const Inventory inventory = take_inventory(net);
  const auto layer = [&](const std::string& name) {
    std::size_t m = 0;
    while (inventory.modules[m].name != name) ++m;
    return m;
  };
  const auto units =
      plan_units(inventory,
                 {.reshard_after_forward = false},
                 {{layer("layers.0"), {.reshard_after_forward = true}}, {layer("layers.1"), {}}});
  EXPECT_TRUE(units[0].reshard_after_forward);
  EXPECT_FALSE(units[1].reshard_after_forward);
}

TEST(UnitPlan, PutsTiedParametersInTheInnermostUnitAroundAllUsers) {
  Net net;
  net.register_module("head", Holder(net.tokens->weight));
  const nn::Linear inner = net.layers[0]->as<Layer>()->up;
  net.layers[0]->as<Layer>()->register_module("again", Holder(inner->weight));
  const Plan units = plan(net, {.wrap = {.names = {"tokens", "layers.0", "layers.0.up", "head"}}});
  const std::map<std::string, std::vector<std::string>> by_name(units.begin(), units.end());
  EXPECT_THAT(by_name.at("layers.0"), ElementsAre("layers.0.up.weight", "layers.0.down.weight"));
  EXPECT_EQ(by_name.at("(root)").front(), "tokens.weight");
  EXPECT_EQ(units.size(), 2);  // nothing is left for the others
}

TEST(UnitPlan, PutsAModuleThatIsRegisteredTwiceAroundBothPlaces) {
  Net net;
  const Layer shared;
  net.layers->push_back(shared);
  net.layers->push_back(shared);
  const Plan units = plan(net, {.wrap = {.types = {"Layer"}}});
  EXPECT_THAT(unit_names(units), ElementsAre("layers.0", "layers.1", "(root)"));
  EXPECT_THAT(units.back().second, ::testing::Contains("layers.2.up.weight"));
}

TEST(UnitPlan, NamesEveryParameterOnce) {
  const Net net;
  for (const std::int64_t size : {0, 1, 20, 32, 64, 128, 1000}) {
    std::multiset<std::string> names;
    for (const auto& unit : plan(net, {.wrap = {.min_parameters = size}})) {
      names.insert(unit.second.begin(), unit.second.end());
    }
    EXPECT_EQ(names.size(), 7) << size;
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 7) << size;
  }
}

TEST(UnitPlan, RefusesPoliciesThatDoNotFitTheStage) {
  EXPECT_EQ(error_of([] { static_cast<void>(plan(Net(), {.policy = Policy::bucketed})); }),
            "zero3 gathers what a module needs: its policy is wrap or flat, got bucketed");
  for (const Stage stage : {Stage::ddp, Stage::zero1, Stage::zero2}) {
    EXPECT_EQ(
        error_of([&] { static_cast<void>(plan(Net(), {.stage = stage, .policy = Policy::wrap})); }),
        "the policy wrap is for zero3; other stages take flat or bucketed");
  }
}

}  // namespace
}  // namespace sheaf::sharding
