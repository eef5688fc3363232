#include "sheaf/module/deferred.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn.h>
#include <torch/serialize.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace sheaf {
namespace {

using module::is_deferred;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
namespace nn = torch::nn;

constexpr std::uint64_t kSeed = 7;

std::int64_t resident_mib() {
  std::int64_t total = 0;
  std::int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE) >> 20;
}

nn::Sequential two_layers() { return nn::Sequential(nn::Linear(64, 32), nn::Linear(32, 16)); }

nn::Sequential deferred_layers() { return deferred(two_layers); }

TEST(DeferredConstruction, TakesNoMemoryForLargeParameters) {
  const auto before = resident_mib();
  const auto model = deferred([] {
    nn::Sequential layers;
    for (int i = 0; i < 8; ++i) layers->push_back(nn::Linear(8192, 8192));  // 256 MiB each
    return layers;
  });
  EXPECT_LT(resident_mib() - before, 64);
  for (const auto& parameter : model->parameters()) EXPECT_TRUE(is_deferred(parameter));
}

TEST(DeferredConstruction, TakesNoMemoryForTensorsMadeByFactories) {
  const auto before = resident_mib();
  const auto weights = deferred([] {
    constexpr std::int64_t kSize = 8192;
    return std::vector<at::Tensor>{torch::randn({kSize, kSize}) * 0.02,
                                   torch::rand({kSize, kSize}).mul_(2).sub_(1),
                                   torch::zeros({kSize, kSize}),
                                   torch::ones({kSize, kSize}).tril(),
                                   torch::full({kSize, kSize}, 3.0),
                                   torch::empty({kSize, kSize}),
                                   torch::randn({kSize, kSize}).to(torch::kBFloat16)};
  });
  EXPECT_LT(resident_mib() - before, 64);
}

TEST(DeferredConstruction, TakesNoMemoryForAWeightFilledInParts) {
  const auto before = resident_mib();
  const auto weight = deferred([] {
    auto all = torch::empty({3, 4096, 4096});
    for (int i = 0; i < 3; ++i) all[i].normal_(0, 0.02);
    return all;
  });
  EXPECT_LT(resident_mib() - before, 64);
  EXPECT_TRUE(is_deferred(weight));
}

TEST(DeferredConstruction, MakesATensorLargerThanTheMemory) {
  const auto weight = deferred([] { return torch::randn({std::int64_t{1} << 37}); });  // 512 GiB
  EXPECT_TRUE(is_deferred(weight));
}

TEST(DeferredConstruction, EndsWithTheOutermostScope) {
  const DeferredConstruction outer;
  { const DeferredConstruction inner; }
  EXPECT_TRUE(is_deferred(torch::randn({4})));
}

TEST(DeferredConstruction, LeavesTensorsMadeOutsideAlone) {
  deferred_layers();
  auto tensor = torch::empty({1 << 20}).normal_();
  EXPECT_FALSE(is_deferred(tensor));
  {
    const DeferredConstruction scope;
    tensor.normal_();
  }
  EXPECT_FALSE(is_deferred(tensor));
}

TEST(DeferredConstruction, IsPerThread) {
  const DeferredConstruction scope;
  std::thread([] { EXPECT_FALSE(is_deferred(torch::randn({4}))); }).join();
}

TEST(DeferredConstruction, GivesNoStaleAnswersWhenStoragesDie) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(is_deferred(deferred([] { return torch::randn({16}); })));
    EXPECT_FALSE(is_deferred(torch::randn({16})));
  }
}

TEST(DeferredConstruction, DropsWhatWasWrittenDownWithTheStorage) {
  const DeferredConstruction scope;
  auto base = torch::empty({1000});
  const auto memory =
      c10::weak_intrusive_ptr<c10::StorageImpl>(base.storage().getWeakStorageImpl());
  base.narrow(0, 0, 10).normal_();
  base.reset();
  EXPECT_TRUE(memory.expired());
}

TEST(DeferredConstruction, RefusesDataPointersThatHaveNoMemory) {
  const auto weight = deferred([] { return torch::randn({4}); });
  EXPECT_THAT([&] { (void)weight.data_ptr<float>(); },
              ThrowsMessage<c10::Error>(HasSubstr("call sheaf::materialize()")));
}

TEST(DeferredConstruction, RefusesToSaveAModelThatHasNoMemory) {
  const auto model = deferred([] { return nn::Linear(300, 300); });
  std::ostringstream file;
  EXPECT_THROW(torch::save(model, file), std::exception);
}

TEST(Materialize, GivesTheSameValuesForTheSameSeed) {
  auto one = deferred_layers();
  auto two = deferred_layers();
  torch::manual_seed(1);
  materialize(*one, kSeed);
  torch::manual_seed(2);
  materialize(*two, kSeed);
  for (std::size_t i = 0; i < one->parameters().size(); ++i) {
    EXPECT_TRUE(one->parameters()[i].equal(two->parameters()[i]));
  }
}

TEST(Materialize, GivesOtherValuesForAnotherSeed) {
  auto one = deferred_layers();
  auto two = deferred_layers();
  materialize(*one, kSeed);
  materialize(*two, kSeed + 1);
  for (std::size_t i = 0; i < one->parameters().size(); ++i) {
    EXPECT_FALSE(one->parameters()[i].equal(two->parameters()[i]));
  }
}

TEST(Materialize, GivesOtherValuesForAnotherName) {
  auto model = deferred([] { return nn::Sequential(nn::Linear(8, 8), nn::Linear(8, 8)); });
  materialize(*model, kSeed);
  EXPECT_FALSE(model->named_parameters()["0.weight"].equal(model->named_parameters()["1.weight"]));
}

TEST(Materialize, LeavesTheGlobalGeneratorAlone) {
  torch::manual_seed(3);
  const auto expected = torch::rand({4});
  torch::manual_seed(3);
  auto model = deferred_layers();
  materialize(*model, kSeed);
  EXPECT_TRUE(torch::rand({4}).equal(expected));
}

TEST(Materialize, LeavesAnOrdinaryModelAsItIs) {
  auto model = two_layers();
  const auto before = model->parameters()[0].clone();
  materialize(*model, kSeed);
  EXPECT_TRUE(model->parameters()[0].equal(before));
}

TEST(Materialize, KeepsWhatNeedsAGradient) {
  auto model = deferred([] {
    auto layers = two_layers();
    layers[0]->as<nn::Linear>()->weight.set_requires_grad(false);
    return layers;
  });
  materialize(*model, kSeed);
  EXPECT_FALSE(model->parameters()[0].requires_grad());
  EXPECT_TRUE(model->parameters()[1].requires_grad());
}

TEST(Materialize, MakesAModelThatTrains) {
  auto model = deferred_layers();
  materialize(*model, kSeed);
  model->forward(torch::ones({2, 64})).sum().backward();
  for (const auto& parameter : model->parameters()) {
    EXPECT_FALSE(is_deferred(parameter));
    EXPECT_TRUE(parameter.grad().defined());
    EXPECT_FALSE(parameter.key_set().has(c10::DispatchKey::DeferredInit));
  }
}

struct Tied : nn::Module {
  Tied() {
    first = register_module("first", nn::Linear(nn::LinearOptions(8, 8).bias(false)));
    second = register_module("second", nn::Linear(nn::LinearOptions(8, 8).bias(false)));
    second->weight.set_data(first->weight.detach());
  }
  nn::Linear first = nullptr;
  nn::Linear second = nullptr;
};

TEST(Materialize, GivesTiedParametersTheValuesOfTheFirstName) {
  auto model = deferred([] { return Tied(); });
  auto expected = torch::empty({8, 8});
  module::fill_deferred(model.first->weight, expected, kSeed, "first.weight");
  materialize(model, kSeed);
  EXPECT_TRUE(model.second->weight.equal(expected));
  EXPECT_TRUE(model.second->weight.is_alias_of(model.first->weight));
}

TEST(Materialize, GivesRanksThatAreThreadsTheSameModel) {
  std::vector<at::Tensor> weights(4);
  std::vector<std::thread> ranks;
  for (auto& weight : weights) {
    ranks.emplace_back([&weight] {
      auto model = deferred_layers();
      materialize(*model, kSeed);
      weight = model->parameters()[0];
    });
  }
  for (auto& rank : ranks) rank.join();
  for (const auto& weight : weights) EXPECT_TRUE(weight.equal(weights[0]));
}

}  // namespace
}  // namespace sheaf
