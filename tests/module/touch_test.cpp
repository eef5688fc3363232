#include "sheaf/module/touch.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn.h>

#include <cstring>
#include <list>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace sheaf::module {
namespace {

// A tensor whose memory can be taken away; the first operator that touches it brings it back.
class FreedUntilTouched {
 public:
  explicit FreedUntilTouched(const at::Tensor& tensor)
      : storage_(tensor.storage().unsafeGetStorageImpl()),
        values_(tensor.detach().clone()),
        watch_(tensor, [this] { refill(); }) {}

  void free() {
    storage_->set_data_ptr_noswap(at::DataPtr(nullptr, at::kCPU));
    storage_->set_nbytes(0);
  }

  [[nodiscard]] int num_refills() const { return num_refills_; }

 private:
  void refill() {
    if (storage_->nbytes() > 0) return;
    const auto bytes = values_.nbytes();
    auto memory = c10::GetAllocator(at::kCPU)->allocate(bytes);
    std::memcpy(memory.get(), values_.const_data_ptr(), bytes);
    storage_->set_data_ptr_noswap(std::move(memory));
    storage_->set_nbytes(bytes);
    ++num_refills_;
  }

  c10::StorageImpl* storage_;
  at::Tensor values_;
  int num_refills_ = 0;
  TouchWatch watch_;
};

using Gradients = std::vector<at::Tensor>;

Gradients take_gradients(torch::nn::Module& model) {
  Gradients gradients;
  for (const auto& parameter : model.parameters()) {
    gradients.push_back(parameter.grad().clone());
    parameter.mutable_grad().reset();
  }
  return gradients;
}

template <class Model>
Gradients gradients_of(Model& model, const at::Tensor& input) {
  model->forward(input).square().sum().backward();
  return take_gradients(*model);
}

// The same with no memory behind the parameters, neither before forward nor before backward.
template <class Model>
Gradients gradients_from_freed(Model& model, const at::Tensor& input) {
  std::list<FreedUntilTouched> memory;
  for (const auto& parameter : model->parameters()) memory.emplace_back(parameter).free();
  const auto loss = model->forward(input).square().sum();
  for (auto& parameter : memory) {
    EXPECT_EQ(parameter.num_refills(), 1);
    parameter.free();
  }
  loss.backward();
  auto gradients = take_gradients(*model);
  for (const auto& parameter : model->parameters()) parameter.sum();
  return gradients;
}

template <class Model>
void expect_same_gradients_from_freed(Model model, const at::Tensor& input) {
  const auto expected = gradients_of(model, input);
  const auto found = gradients_from_freed(model, input);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(found[i].equal(expected[i]));
}

// Counts the touches of a tensor by `body`.
template <class Body>
int touches(const at::Tensor& tensor, const Body& body) {
  int count = 0;
  const TouchWatch watch(tensor, [&] { ++count; });
  body();
  return count;
}

TEST(TouchWatch, ComesBeforeTheKernelsOfLinear) {
  expect_same_gradients_from_freed(torch::nn::Linear(5, 3), at::randn({4, 5}).requires_grad_());
}

TEST(TouchWatch, ComesBeforeTheKernelsOfConvolution) {
  expect_same_gradients_from_freed(torch::nn::Conv2d(2, 3, 3),
                                   at::randn({2, 2, 6, 6}).requires_grad_());
}

TEST(TouchWatch, ComesBeforeTheKernelsOfEmbedding) {
  expect_same_gradients_from_freed(torch::nn::Embedding(7, 4), at::arange(5));
}

TEST(TouchWatch, ComesBeforeTheKernelsOfNormalisation) {
  const auto options = torch::nn::LayerNormOptions({6});
  expect_same_gradients_from_freed(torch::nn::LayerNorm(options),
                                   at::randn({4, 6}).requires_grad_());
}

TEST(TouchWatch, SeesBackwardReadWhatForwardSaved) {
  const auto weight = at::randn({3, 3}).requires_grad_();
  const auto input = at::randn({2, 3}).requires_grad_();
  const auto loss = input.mm(weight).sum();
  EXPECT_GT(touches(weight, [&] { loss.backward(); }), 0);
}

TEST(TouchWatch, SeesOperatorsOnViews) {
  const auto whole = at::randn({6});
  const auto part = whole.narrow(0, 2, 3).view({3, 1});
  EXPECT_EQ(touches(whole, [&] { part.neg(); }), 1);
}

TEST(TouchWatch, SeesOperatorsOnTheWholeWhenAViewIsWatched) {
  const auto whole = at::randn({6});
  EXPECT_EQ(touches(whole.narrow(0, 2, 3), [&] { whole.neg(); }), 1);
}

TEST(TouchWatch, SeesTensorsInLists) {
  const auto watched = at::ones({2});
  EXPECT_GT(touches(watched, [&] { at::cat({at::zeros({2}), watched}); }), 0);
}

TEST(TouchWatch, SeesOptionalTensors) {
  const auto bias = at::ones({3});
  EXPECT_GT(touches(bias, [&] { at::linear(at::ones({2, 4}), at::ones({3, 4}), bias); }), 0);
}

TEST(TouchWatch, SeesOptionalTensorsInLists) {
  const auto rows = at::arange(2);
  EXPECT_GT(touches(rows, [&] { at::ones({3, 3}).index({at::indexing::Slice(), rows}); }), 0);
}

TEST(TouchWatch, SeesOperatorsOfOtherThreads) {
  const auto watched = at::ones({2});
  EXPECT_GT(touches(watched, [&] { std::thread([&] { watched.sum(); }).join(); }), 0);
}

TEST(TouchWatch, ReportsAnOperatorOnceThatTakesTheMemoryTwice) {
  const auto watched = at::ones({2, 2});
  EXPECT_EQ(touches(watched, [&] { at::mul(watched, watched); }), 1);
}

TEST(TouchWatch, SkipsTensorsOfOtherMemoryAndWithoutMemory) {
  const auto sparse = at::eye(3).to_sparse();
  EXPECT_EQ(touches(at::ones({2}), [&] { sparse.add(sparse).sum(); }), 0);
}

TEST(TouchWatch, DoesNotReportOperatorsOfTheCallee) {
  const auto watched = at::ones({2});
  int count = 0;
  const TouchWatch watch(watched, [&] {
    ++count;
    watched.sum();
  });
  watched.neg();
  EXPECT_EQ(count, 1);
}

TEST(TouchWatch, CallsNobodyOnceDestroyed) {
  const auto watched = at::ones({2});
  int count = 0;
  {
    const TouchWatch watch(watched, [&] { ++count; });
  }
  watched.sum();
  EXPECT_EQ(count, 0);
}

TEST(TouchWatch, LeavesOthersInPlaceWhenOneIsDestroyed) {
  const auto watched = at::ones({2});
  int count = 0;
  const TouchWatch kept(watched, [&] { ++count; });
  {
    const TouchWatch gone(watched, [&] { count += 100; });
  }
  watched.neg();
  EXPECT_EQ(count, 1);
}

TEST(TouchWatch, MayBeDestroyedByItsOwnCallee) {
  const auto watched = at::ones({2});
  int count = 0;
  std::optional<TouchWatch> watch;
  watch.emplace(watched, [&watch, &count, token = std::make_shared<int>(7)] {
    watch.reset();
    count += *token;
  });
  watched.sum();
  watched.sum();
  EXPECT_EQ(count, 7);
}

TEST(TouchWatch, GoesOnAfterAMove) {
  const auto watched = at::ones({2});
  int count = 0;
  TouchWatch first(watched, [&] { ++count; });
  TouchWatch second(std::move(first));
  first = std::move(second);
  watched.neg();
  EXPECT_EQ(count, 1);
}

TEST(TouchWatch, DoesNotKeepMemoryAlive) {
  auto watched = at::ones({2});
  const auto weak = watched.storage().getWeakStorageImpl();
  const TouchWatch watch(watched, [] {});
  watched.reset();
  EXPECT_TRUE(weak.expired());
}

TEST(Touch, IsThatOfOneOperatorForAllTensors) {
  const auto first = at::ones({2}), second = at::ones({2}), view = second.view({2, 1});
  std::vector<std::uint64_t> operators;
  const auto note = [&] { operators.push_back(touching_operator()); };
  const TouchWatch watch(first, note), other(second, note);
  touch({first, at::Tensor(), view, first});
  ASSERT_EQ(operators.size(), 2);
  EXPECT_EQ(operators[0], operators[1]);
  touch({first});
  EXPECT_NE(operators[2], operators[1]);
}

TEST(Touch, IsNotReportedWithinACallee) {
  const auto watched = at::ones({2});
  int count = 0;
  const TouchWatch watch(watched, [&] {
    ++count;
    touch({watched});
  });
  touch({watched});
  EXPECT_EQ(count, 1);
}

TEST(TouchWatch, MayComeAndGoWhileOtherThreadsRunOperators) {
  const auto shared = at::ones({2});
  const auto work = [&] {
    for (int i = 0; i < 200; ++i) {
      const TouchWatch watch(shared, [] {});
      shared.neg();
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(touches(shared, [&] { shared.neg(); }), 1);
}

}  // namespace
}  // namespace sheaf::module
