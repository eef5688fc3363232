#include "sheaf/module/backward_end.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <list>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sheaf::module {
namespace {

using ::testing::ElementsAre;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

using Block = std::function<at::Tensor(const at::Tensor&)>;
using Events = std::vector<std::string>;

// Keeps only the block's input and runs the block again in backward, in a backward of its own.
struct Recompute : torch::autograd::Function<Recompute> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const Block* block) {
    context->save_for_backward({input});
    context->saved_data["block"] = reinterpret_cast<std::int64_t>(block);
    return (*block)(input);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::AutoGradMode record(true);
    const auto* block = reinterpret_cast<const Block*>(context->saved_data["block"].toInt());
    const auto input = context->get_saved_variables().at(0).detach().requires_grad_();
    torch::autograd::backward({(*block)(input)}, {gradients.at(0)});
    return {input.grad(), {}};
  }
};

// Blocks one after the other, and what their backward has done. The hook of the chain's input comes
// last in the outermost backward.
class Chain {
 public:
  explicit Chain(Events& events) : events_(events) {
    input_.register_hook([&](const at::Tensor&) { events_.push_back("input"); });
  }

  // Adds a block with a weight whose gradient asks for a call at the end.
  const Block& hooked(const std::string& name) {
    return hooked([this, name] { events_.push_back("end of " + name); });
  }

  const Block& hooked(const std::function<void()>& body) {
    const auto weight = at::ones({2}).requires_grad_();
    weight.register_hook([body](const at::Tensor&) { at_end_of_backward(body); });
    return keep([weight](const at::Tensor& x) { return x * weight; });
  }

  const Block& plain() {
    const auto weight = at::ones({2}).requires_grad_();
    return keep([weight](const at::Tensor& x) { return x * weight; });
  }

  const Block& recomputed(const Block& block) {
    return keep([&block](const at::Tensor& x) { return Recompute::apply(x, &block); });
  }

  const Block& both(const Block& first, const Block& second) {
    return keep([&first, &second](const at::Tensor& x) { return second(first(x)); });
  }

  const at::Tensor& input() const { return input_; }
  at::Tensor loss(const Block& block) { return block(input_).sum(); }

 private:
  const Block& keep(Block block) { return blocks_.emplace_back(std::move(block)); }

  Events& events_;
  at::Tensor input_ = at::ones({2}).requires_grad_();
  std::list<Block> blocks_;
};

TEST(BackwardEnd, KnowsWhetherBackwardRuns) {
  bool inside = false;
  const auto x = at::ones({2}).requires_grad_();
  x.register_hook([&](const at::Tensor&) { inside = in_backward(); });
  EXPECT_FALSE(in_backward());
  x.sum().backward();
  EXPECT_TRUE(inside);
  EXPECT_FALSE(in_backward());
}

TEST(BackwardEnd, CallsTheBodyAfterAPlainBackward) {
  Events events;
  Chain chain(events);
  chain.loss(chain.hooked("block")).backward();
  EXPECT_THAT(events, ElementsAre("input", "end of block"));
}

TEST(BackwardEnd, CallsBodiesInTheOrderTheyCame) {
  Events events;
  Chain chain(events);
  chain.loss(chain.both(chain.hooked("first"), chain.hooked("second"))).backward();
  EXPECT_THAT(events, ElementsAre("input", "end of second", "end of first"));
}

TEST(BackwardEnd, WaitsForTheOutermostWhenTheLastBlockIsRecomputed) {
  Events events;
  Chain chain(events);
  const auto& recomputed = chain.recomputed(chain.hooked("block"));
  chain.loss(chain.both(chain.both(chain.plain(), chain.plain()), recomputed)).backward();
  EXPECT_THAT(events, ElementsAre("input", "end of block"));
}

TEST(BackwardEnd, WaitsForTheOutermostWhenTheFirstBlockIsRecomputed) {
  Events events;
  Chain chain(events);
  chain.loss(chain.both(chain.recomputed(chain.hooked("block")), chain.plain())).backward();
  EXPECT_THAT(events, ElementsAre("input", "end of block"));
}

TEST(BackwardEnd, WaitsForTheOutermostWhenAllBlocksAreRecomputed) {
  Events events;
  Chain chain(events);
  const auto& first = chain.recomputed(chain.hooked("first"));
  const auto& second = chain.recomputed(chain.hooked("second"));
  const auto& third = chain.recomputed(chain.hooked("third"));
  chain.loss(chain.both(chain.both(first, second), third)).backward();
  EXPECT_THAT(events, ElementsAre("input", "end of third", "end of second", "end of first"));
}

TEST(BackwardEnd, WaitsForTheOutermostOfThree) {
  Events events;
  Chain chain(events);
  const auto& inner = chain.recomputed(chain.hooked("inner"));
  const auto& middle = chain.recomputed(chain.both(inner, chain.hooked("middle")));
  chain.loss(chain.both(chain.plain(), middle)).backward();
  EXPECT_THAT(events, ElementsAre("input", "end of middle", "end of inner"));
}

TEST(BackwardEnd, CallsTheBodyWhenTheOutermostHasNoNodeLeft) {
  Events events;
  Chain chain(events);
  const auto loss = chain.loss(chain.recomputed(chain.hooked("block")));
  torch::autograd::grad({loss}, {chain.input()});
  EXPECT_THAT(events, ElementsAre("input", "end of block"));
}

TEST(BackwardEnd, CallsTheBodyOncePerBackward) {
  Events events;
  Chain chain(events);
  const auto& block = chain.recomputed(chain.hooked("block"));
  chain.loss(block).backward();
  chain.loss(block).backward();
  EXPECT_THAT(events, ElementsAre("input", "end of block", "input", "end of block"));
}

TEST(BackwardEnd, CallsABodyThatABodyAskedFor) {
  Events events;
  Chain chain(events);
  const auto& block = chain.hooked(
      [&events] { at_end_of_backward([&events] { events.push_back("end of end"); }); });
  chain.loss(chain.recomputed(block)).backward();
  EXPECT_THAT(events, ElementsAre("input", "end of end"));
}

TEST(BackwardEnd, LetsTheBodysExceptionReachTheCaller) {
  Events events;
  Chain chain(events);
  const auto loss = chain.loss(chain.hooked([] { throw std::runtime_error("no room"); }));
  EXPECT_THROW(loss.backward(), std::runtime_error);
}

TEST(BackwardEnd, LetsTheExceptionOfARecomputedBlocksBodyReachTheCaller) {
  Events events;
  Chain chain(events);
  const auto& block = chain.hooked([] { throw std::runtime_error("no room"); });
  const auto loss = chain.loss(chain.both(chain.plain(), chain.recomputed(block)));
  EXPECT_THROW(loss.backward(), std::runtime_error);
  EXPECT_THAT(events, ElementsAre("input"));
}

TEST(BackwardEnd, DropsTheBodyWhenBackwardFails) {
  Events events;
  Chain chain(events);
  const auto failing = chain.input().clone();
  failing.register_hook([](const at::Tensor&) { throw std::runtime_error("lost"); });
  const auto& block = chain.recomputed(chain.hooked("block"));
  EXPECT_THROW(block(failing).sum().backward(), std::runtime_error);
  chain.loss(chain.plain()).backward();
  EXPECT_THAT(events, ElementsAre("input"));
}

TEST(BackwardEnd, KeepsThreadsApart) {
  const auto run = [](Events& events) {
    for (int i = 0; i < 50; ++i) {
      events.clear();
      Chain chain(events);
      chain.loss(chain.both(chain.hooked("a"), chain.recomputed(chain.hooked("b")))).backward();
    }
  };
  Events here;
  Events there;
  std::thread other([&] { run(there); });
  run(here);
  other.join();
  EXPECT_THAT(here, ElementsAre("input", "end of b", "end of a"));
  EXPECT_THAT(there, ElementsAre("input", "end of b", "end of a"));
}

}  // namespace
}  // namespace sheaf::module
