// Every kind of module that LibTorch has keeps its shapes, types and way of being initialised.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn.h>

#include <cmath>

#include "sheaf/module/deferred.h"

namespace sheaf {
namespace {

namespace nn = torch::nn;

constexpr std::uint64_t kSeed = 11;
// Thousands of draws: their standard deviation is within a few per cent of the true one.
constexpr double kTolerance = 0.05;

template <class Build>
auto materialized(Build build) {
  auto model = deferred(build);
  materialize(*model, kSeed);
  return model;
}

double std_of(const at::Tensor& tensor) { return tensor.std().template item<double>(); }

void expect_same_kind(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_EQ(actual.sizes(), expected.sizes());
  EXPECT_EQ(actual.strides(), expected.strides());
  EXPECT_EQ(actual.dtype(), expected.dtype());
  EXPECT_EQ(actual.requires_grad(), expected.requires_grad());
  EXPECT_FALSE(module::is_deferred(actual));
  if (expected.numel() < 1000 || !expected.is_floating_point()) return;
  const auto std = std_of(expected);
  EXPECT_NEAR(std_of(actual), std, kTolerance * std);
}

/// Compares with a model built the ordinary way.
template <class Build>
void expect_like_ordinary(Build build) {
  const auto actual = materialized(build);
  const auto expected = build();
  const auto parameters = expected->named_parameters();
  ASSERT_EQ(actual->named_parameters().keys(), parameters.keys());
  for (const auto& [name, tensor] : actual->named_parameters().pairs()) {
    SCOPED_TRACE(name);
    expect_same_kind(tensor, parameters[name]);
  }
  for (const auto& [name, tensor] : actual->named_buffers().pairs()) {
    SCOPED_TRACE(name);
    expect_same_kind(tensor, expected->named_buffers()[name]);
    EXPECT_TRUE(tensor.equal(expected->named_buffers()[name]));
  }
}

TEST(DeferredModules, LinearIsUniformWithinItsBound) {
  const auto model = materialized([] { return nn::Linear(1024, 512); });
  const double bound = 1 / std::sqrt(1024.0);
  EXPECT_NEAR(std_of(model->weight), bound / std::sqrt(3.0), kTolerance * bound);
  EXPECT_LE(model->weight.abs().max().item<double>(), bound);
  EXPECT_NEAR(std_of(model->bias), bound / std::sqrt(3.0), kTolerance * bound);
}

TEST(DeferredModules, LinearIsLikeOrdinary) {
  expect_like_ordinary([] { return nn::Linear(300, 200); });
}

TEST(DeferredModules, ConvolutionsAreLikeOrdinary) {
  expect_like_ordinary([] { return nn::Conv2d(nn::Conv2dOptions(32, 64, 3)); });
  expect_like_ordinary([] { return nn::ConvTranspose1d(nn::ConvTranspose1dOptions(32, 64, 3)); });
}

TEST(DeferredModules, EmbeddingIsLikeOrdinary) {
  expect_like_ordinary([] { return nn::Embedding(1000, 64); });
}

TEST(DeferredModules, EmbeddingKeepsItsPaddingRowZero) {
  const auto model =
      materialized([] { return nn::Embedding(nn::EmbeddingOptions(100, 64).padding_idx(3)); });
  EXPECT_EQ(model->weight[3].abs().sum().item<double>(), 0);
  EXPECT_NEAR(std_of(model->weight[4]), 1, 0.3);
}

TEST(DeferredModules, NormsHaveExactConstants) {
  const auto norm = materialized([] { return nn::LayerNorm(nn::LayerNormOptions({1 << 20})); });
  EXPECT_TRUE(norm->weight.equal(torch::ones({1 << 20})));
  EXPECT_TRUE(norm->bias.equal(torch::zeros({1 << 20})));
}

TEST(DeferredModules, BatchNormIsLikeOrdinary) {
  expect_like_ordinary([] { return nn::BatchNorm2d(32); });
}

TEST(DeferredModules, LstmIsLikeOrdinary) {
  expect_like_ordinary([] { return nn::LSTM(nn::LSTMOptions(64, 128).num_layers(2)); });
}

TEST(DeferredModules, LstmRuns) {
  auto model = materialized([] { return nn::LSTM(nn::LSTMOptions(8, 16).bidirectional(true)); });
  EXPECT_EQ(std::get<0>(model->forward(torch::ones({5, 2, 8}))).sizes(),
            (std::vector<std::int64_t>{5, 2, 32}));
}

TEST(DeferredModules, MultiheadAttentionIsLikeOrdinary) {
  expect_like_ordinary([] { return nn::MultiheadAttention(64, 4); });
}

TEST(DeferredModules, TransformerIsLikeOrdinary) {
  expect_like_ordinary(
      [] { return nn::Transformer(nn::TransformerOptions(64, 4, 2, 2).dim_feedforward(128)); });
}

nn::TransformerEncoder encoder() {
  const auto layer = nn::TransformerEncoderLayerOptions(64, 4).dim_feedforward(128);
  return nn::TransformerEncoder(
      nn::TransformerEncoderOptions(nn::TransformerEncoderLayer(layer), 3));
}

TEST(DeferredModules, TransformerEncoderIsLikeOrdinary) { expect_like_ordinary(encoder); }

struct Clones : nn::Module {
  Clones() : original(register_module("original", nn::Linear(32, 32))) {
    copy = register_module("copy", std::dynamic_pointer_cast<nn::LinearImpl>(original->clone()));
  }
  nn::Linear original;
  nn::Linear copy = nullptr;
};

TEST(DeferredModules, ClonesEqualTheirOriginal) {
  const auto one = materialized([] { return std::make_shared<Clones>(); });
  EXPECT_TRUE(one->copy->weight.equal(one->original->weight));
  EXPECT_FALSE(one->copy->weight.is_alias_of(one->original->weight));
  auto two = deferred([] { return std::make_shared<Clones>(); });
  materialize(*two, kSeed + 1);
  EXPECT_FALSE(two->copy->weight.equal(one->copy->weight));
}

TEST(DeferredModules, ClonesStayEqualWhenFilledOneByOne) {
  auto model = deferred([] { return std::make_shared<Clones>(); });
  auto original = torch::empty({32, 32});
  auto copy = torch::empty({32, 32});
  module::fill_deferred(model->original->weight, original, kSeed, "original.weight");
  model->original->weight.set_data(original);
  module::fill_deferred(model->copy->weight, copy, kSeed, "copy.weight");
  EXPECT_TRUE(copy.equal(original));
}

struct Custom : nn::Module {
  Custom() {
    const torch::NoGradGuard no_grad;
    xavier = register_parameter("xavier", torch::empty({100, 300}));
    nn::init::xavier_normal_(xavier);
    scaled = register_parameter("scaled", torch::randn({100, 300}) * 0.02);
    copied = register_parameter("copied", torch::empty({100, 300}));
    copied.copy_(torch::randn({100, 300}) * 0.5);
    orthogonal = register_parameter("orthogonal", torch::empty({40, 40}));
    nn::init::orthogonal_(orthogonal);
    eye = register_parameter("eye", torch::empty({5, 5}));
    nn::init::eye_(eye);
    dirac = register_parameter("dirac", torch::empty({4, 4, 3}));
    nn::init::dirac_(dirac);
    register_buffer("constants", torch::tensor({1.5, 2.5}));
    register_buffer("positions", torch::arange(600'000));
    register_buffer("full", torch::full({300, 400}, 0.25));
    register_buffer("mask", torch::ones({512, 512}).tril().view({1, 1, 512, 512}));
  }
  at::Tensor xavier, scaled, copied, orthogonal, eye, dirac;
};

TEST(DeferredModules, CustomModuleIsLikeOrdinary) {
  expect_like_ordinary([] { return std::make_shared<Custom>(); });
}

TEST(DeferredModules, CustomModuleHasExactStructure) {
  const auto model = materialized([] { return std::make_shared<Custom>(); });
  const auto& q = model->orthogonal;
  EXPECT_TRUE(q.matmul(q.t()).allclose(torch::eye(40), 1e-4, 1e-5));
  EXPECT_TRUE(model->eye.equal(torch::eye(5)));
  EXPECT_EQ(model->dirac.sum().item<double>(), 4);
  EXPECT_NEAR(std_of(model->scaled), 0.02, 0.02 * kTolerance);
  EXPECT_NEAR(std_of(model->copied), 0.5, 0.5 * kTolerance);
}

TEST(DeferredModules, ConvertedModelHasTheOtherType) {
  auto model = deferred([] {
    nn::Linear layer(512, 512);
    layer->to(torch::kBFloat16);
    return layer;
  });
  EXPECT_TRUE(module::is_deferred(model->weight));
  materialize(*model, kSeed);
  const auto full = materialized([] { return nn::Linear(512, 512); });
  EXPECT_TRUE(model->weight.equal(full->weight.to(torch::kBFloat16)));
}

}  // namespace
}  // namespace sheaf
