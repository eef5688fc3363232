#include "sheaf/module/forward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn.h>

#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sheaf {
namespace {

using module::Claim;
using module::Tensors;
using ::testing::ElementsAre;
using Inner = std::function<Tensors(const Tensors&)>;

at::Tensor number(double value) { return at::full({}, value); }

// A claim that is a function.
class Claiming final : public Claim {
 public:
  using Body = std::function<Tensors(const Tensors&, const Inner&)>;
  explicit Claiming(Body body) : body_(std::move(body)) {}
  Tensors run(const Tensors& inputs, const Inner& forward) override {
    return body_(inputs, forward);
  }

 private:
  Body body_;
};

[[nodiscard]] module::ClaimHandle claimed(const torch::nn::Module& module, Claiming::Body body) {
  return module::claim(module, std::make_shared<Claiming>(std::move(body)));
}

[[nodiscard]] module::ClaimHandle passed_on(const torch::nn::Module& module) {
  return claimed(module, [](const Tensors& x, const Inner& forward) { return forward(x); });
}

Tensors times(Tensors tensors, double factor) {
  for (auto& tensor : tensors) {
    if (tensor.defined()) tensor = tensor * factor;
  }
  return tensors;
}

// Gives the module inputs times 10 and returns its outputs times 100.
[[nodiscard]] module::ClaimHandle scaled(const torch::nn::Module& module) {
  return claimed(module, [](const Tensors& inputs, const Inner& forward) {
    return times(forward(times(inputs, 10)), 100);
  });
}

// A module whose forward is a function.
template <class Body>
struct Calls : torch::nn::Module {
  explicit Calls(Body body) : body_(std::move(body)) {}
  template <class... Args>
  decltype(auto) forward(Args&&... args) {
    return body_(std::forward<Args>(args)...);
  }
  Body body_;
};

struct OneMoreImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) { return x + 1; }
};
TORCH_MODULE(OneMore);

TEST(Forward, CallsAModuleThatNobodyClaimed) {
  OneMore module;
  EXPECT_EQ(forward(*module, number(1)).item<double>(), 2);
}

TEST(Forward, TakesAHolder) {
  OneMore module;
  const auto handle = scaled(*module);
  EXPECT_EQ(forward(module, number(1)).item<double>(), 1100);
}

TEST(Forward, TakesASharedPointer) {
  auto module = std::make_shared<OneMoreImpl>();
  const auto handle = scaled(*module);
  EXPECT_EQ(forward(module, number(1)).item<double>(), 1100);
}

TEST(Forward, TakesASequential) {
  torch::nn::Sequential module(OneMore{}, OneMore{});
  EXPECT_EQ(forward(*module, number(1)).item<double>(), 3);
  const auto handle = scaled(*module);
  EXPECT_EQ(forward(*module, number(1)).item<double>(), 1200);
}

TEST(Forward, TakesNestedTuplesAsOfARecurrentLayer) {
  torch::nn::LSTM module(2, 3);
  const auto x = at::randn({4, 1, 2});
  const auto state = std::make_tuple(at::randn({1, 1, 3}), at::randn({1, 1, 3}));
  const auto expected = forward(*module, x, state);
  Tensors seen;
  const auto handle = claimed(*module, [&](const Tensors& inputs, const Inner& forward) {
    EXPECT_EQ(inputs.size(), 3U);
    return seen = forward(inputs);
  });
  const auto found = forward(*module, x, state);
  EXPECT_EQ(seen.size(), 3U);
  EXPECT_TRUE(std::get<1>(std::get<1>(found)).equal(std::get<1>(std::get<1>(expected))));
}

TEST(Forward, RunsTheFirstClaimOutermost) {
  OneMore module;
  std::vector<std::string> order;
  const auto noting = [&](const std::string& name) {
    return claimed(*module, [&order, name](const Tensors& inputs, const Inner& forward) {
      order.push_back(name);
      auto outputs = forward(inputs);
      order.push_back("after " + name);
      return outputs;
    });
  };
  const auto first = noting("first");
  const auto second = noting("second");
  forward(*module, number(1));
  EXPECT_THAT(order, ElementsAre("first", "second", "after second", "after first"));
}

TEST(Forward, ReplacesTensorsInAllContainers) {
  Calls module([](const std::vector<at::Tensor>& list,
                  std::optional<at::Tensor> maybe,
                  const std::array<at::Tensor, 1>& array,
                  const std::pair<int, std::tuple<at::Tensor>>& pair) {
    return list.at(0) + *maybe + array[0] + std::get<0>(pair.second) + pair.first;
  });
  const auto handle = scaled(module);
  const auto pair = std::make_pair(7, std::make_tuple(number(4)));
  const auto sum = forward(module,
                           std::vector<at::Tensor>{number(1)},
                           std::optional<at::Tensor>(number(2)),
                           std::array<at::Tensor, 1>{number(3)},
                           pair);
  EXPECT_EQ(sum.item<double>(), 10700);
}

TEST(Forward, ReplacesTensorsInsideTheResult) {
  Calls module([](const at::Tensor& x) {
    return std::make_pair(std::vector<at::Tensor>{x, x + 1}, std::string("name"));
  });
  const auto handle = scaled(module);
  const auto [list, name] = forward(module, number(1));
  EXPECT_EQ(list.at(0).item<double>(), 1000);
  EXPECT_EQ(list.at(1).item<double>(), 1100);
  EXPECT_EQ(name, "name");
}

TEST(Forward, LeavesTheCallersTensorsAlone) {
  OneMore module;
  const auto handle = scaled(*module);
  auto x = number(1);
  forward(*module, x);
  EXPECT_EQ(x.item<double>(), 1);
}

TEST(Forward, KeepsUndefinedTensorsAndSkipsEmptyOptionals) {
  Calls module([](const at::Tensor& x, const std::optional<at::Tensor>& y) {
    return std::vector<at::Tensor>{x, at::Tensor(), number(y ? 1 : 0)};
  });
  const auto handle = claimed(module, [](const Tensors& inputs, const Inner& forward) {
    EXPECT_EQ(inputs.size(), 1U);
    EXPECT_FALSE(inputs.at(0).defined());
    return times(forward(inputs), 2);
  });
  const auto list = forward(module, at::Tensor(), std::optional<at::Tensor>());
  EXPECT_FALSE(list.at(1).defined());
  EXPECT_EQ(list.at(2).item<double>(), 0);
}

TEST(Forward, PassesOtherArgumentsByReference) {
  Calls module([](const at::Tensor& x, int& calls) {
    ++calls;
    return x;
  });
  const auto handle = passed_on(module);
  int calls = 0;
  forward(module, number(1), calls);
  EXPECT_EQ(calls, 1);
}

TEST(Forward, MovesArgumentsThatCannotBeCopied) {
  Calls module([](std::unique_ptr<int> value) { return value; });
  EXPECT_EQ(*forward(module, std::make_unique<int>(3)), 3);
  const auto handle = passed_on(module);
  EXPECT_EQ(*forward(module, std::make_unique<int>(3)), 3);
}

TEST(Forward, ReturnsReferencesToOtherThingsAsTheyAre) {
  int value = 1;
  Calls module([&](const at::Tensor&) -> int& { return value; });
  EXPECT_EQ(&forward(module, number(1)), &value);
  const auto handle = passed_on(module);
  EXPECT_EQ(&forward(module, number(1)), &value);
}

TEST(Forward, ReturnsReferredTensorsByValue) {
  const auto own = number(1);
  Calls module([&](const at::Tensor&) -> const at::Tensor& { return own; });
  static_assert(std::is_same_v<decltype(forward(module, own)), at::Tensor>);
  EXPECT_TRUE(forward(module, own).is_same(own));
  const auto handle = scaled(module);
  EXPECT_EQ(forward(module, own).item<double>(), 100);
}

TEST(Forward, AllowsVoidResults) {
  int calls = 0;
  Calls module([&] { ++calls; });
  forward(module);
  const auto handle = passed_on(module);
  forward(module);
  EXPECT_EQ(calls, 2);
}

TEST(Forward, LetsAClaimCallForwardAgainLater) {
  Calls module([](const at::Tensor& x, std::string suffix) {
    return x + static_cast<double>(suffix.size());
  });
  Inner later;
  const auto handle = claimed(module, [&](const Tensors& inputs, const Inner& forward) {
    later = forward;
    return forward(inputs);
  });
  forward(module, number(1), std::string(100, 'a'));
  EXPECT_EQ(later({number(2)}).at(0).item<double>(), 102);
}

TEST(Forward, KeepsNoTensorInWhatAClaimMayCallLater) {
  OneMore module;
  Inner later;
  const auto handle = claimed(*module, [&](const Tensors& inputs, const Inner& forward) {
    later = forward;
    return forward(inputs);
  });
  const auto x = number(1);
  const auto y = forward(*module, x);
  EXPECT_EQ(x.use_count(), 1U);
  EXPECT_EQ(y.use_count(), 1U);
}

TEST(Forward, CarriesGradientsThroughClaims) {
  OneMore module;
  const auto handle = scaled(*module);
  const auto x = number(1).requires_grad_();
  forward(*module, x).backward();
  EXPECT_EQ(x.grad().item<double>(), 1000);
}

TEST(Forward, LetsExceptionsPass) {
  Calls module([](const at::Tensor& x) {
    if (x.defined()) throw std::runtime_error("no");
    return x;
  });
  const auto handle = passed_on(module);
  EXPECT_THROW(forward(module, number(1)), std::runtime_error);
}

TEST(Forward, RefusesAClaimThatReturnsTooFewTensors) {
  OneMore module;
  const auto handle = claimed(*module, [](const Tensors& inputs, const Inner& forward) {
    forward(inputs);
    return Tensors();
  });
  EXPECT_THROW(forward(*module, number(1)), c10::Error);
}

}  // namespace
}  // namespace sheaf
