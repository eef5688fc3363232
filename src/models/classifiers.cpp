#include "models/classifiers.h"

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <string>
#include <vector>

#include "models/images.h"
#include "sheaf/base/error.h"
#include "sheaf/models/cost.h"
#include "sheaf/module/forward.h"
#include "sheaf/nn/linear_cross_entropy.h"

namespace sheaf::models {
namespace {

// Of all pixels of MNIST's training images.
constexpr double kPixelMean = 0.1307;
constexpr double kPixelDeviation = 0.3081;

void check_images(const at::Tensor& inputs, const at::Tensor& targets) {
  const bool known_type =
      inputs.defined() && (inputs.scalar_type() == at::kByte || inputs.is_floating_point());
  if (!known_type || inputs.dim() != 3 || inputs.size(1) != kImageSide ||
      inputs.size(2) != kImageSide) {
    throw UsageError(
        fmt::format("inputs of a classifier must be bytes or floats [samples, {0}, {0}], got {1} "
                    "[{2}]",
                    kImageSide,
                    inputs.defined() ? c10::toString(inputs.scalar_type()) : "nothing",
                    fmt::join(inputs.defined() ? inputs.sizes() : at::IntArrayRef(), ", ")));
  }
  if (targets.defined() && (targets.dim() != 1 || targets.size(0) != inputs.size(0) ||
                            targets.scalar_type() != at::kLong)) {
    throw UsageError(fmt::format("targets of {} samples must be as many int64, got {} [{}]",
                                 inputs.size(0),
                                 c10::toString(targets.scalar_type()),
                                 fmt::join(targets.sizes(), ", ")));
  }
}

/// Returns images in the given type with a mean of about 0 and a deviation of about 1.
at::Tensor normalized(const at::Tensor& inputs, at::ScalarType type) {
  const at::ScalarType wide = type == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor x = inputs.to(wide);
  const at::Tensor unit = inputs.scalar_type() == at::kByte ? x / 255 : x;
  return ((unit - kPixelMean) / kPixelDeviation).to(type);
}

at::Tensor loss_or_scores(const at::Tensor& logits, const at::Tensor& targets) {
  if (!targets.defined()) return logits;
  const at::ScalarType wide = logits.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return at::cross_entropy_loss(
      logits.to(wide), targets, /*weight=*/{}, at::Reduction::Sum, nn::kIgnoredTarget);
}

std::shared_ptr<torch::nn::LinearImpl> linear_layer(std::int64_t in, std::int64_t out) {
  return std::make_shared<torch::nn::LinearImpl>(in, out);
}

class Cnn final : public Model {
 public:
  explicit Cnn(const Shape& shape) : shape_(shape) {
    std::int64_t channels = 1;
    std::int64_t side = kImageSide;
    for (const std::int64_t next : kChannels) {
      const auto options = torch::nn::Conv2dOptions(channels, next, kWindow).padding(kWindow / 2);
      convolutions_.push_back(register_module(fmt::format("conv{}", convolutions_.size() + 1),
                                              std::make_shared<torch::nn::Conv2dImpl>(options)));
      channels = next;
      side /= 2;
    }
    fc1_ = register_module("fc1", linear_layer(channels * side * side, shape.hidden));
    fc2_ = register_module("fc2", linear_layer(shape.hidden, shape.vocabulary));
  }

  at::Tensor forward(const at::Tensor& inputs,
                     const at::Tensor& targets,
                     const Pass& /*pass*/) override {
    check_images(inputs, targets);
    at::Tensor x = normalized(inputs, fc1_->weight.scalar_type()).unsqueeze(1);
    for (const auto& convolution : convolutions_) {
      x = at::max_pool2d(at::relu(sheaf::forward(*convolution, x)), {2, 2});
    }
    x = at::relu(sheaf::forward(*fc1_, x.flatten(1)));
    return loss_or_scores(sheaf::forward(*fc2_, x), targets);
  }

  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] std::vector<std::string> blocks() const override { return {}; }

 private:
  Shape shape_;
  std::vector<std::shared_ptr<torch::nn::Conv2dImpl>> convolutions_;
  std::shared_ptr<torch::nn::LinearImpl> fc1_;
  std::shared_ptr<torch::nn::LinearImpl> fc2_;
};

class Mlp final : public Model {
 public:
  explicit Mlp(const Shape& shape) : shape_(shape) {
    std::int64_t width = kImageSide * kImageSide;
    for (std::int64_t i = 0; i <= shape.layers; ++i) {
      const std::int64_t next = i < shape.layers ? shape.hidden : shape.vocabulary;
      layers_.push_back(register_module(fmt::format("fc{}", i + 1), linear_layer(width, next)));
      width = next;
    }
  }

  at::Tensor forward(const at::Tensor& inputs,
                     const at::Tensor& targets,
                     const Pass& /*pass*/) override {
    check_images(inputs, targets);
    at::Tensor x = normalized(inputs, layers_.front()->weight.scalar_type()).flatten(1);
    for (const auto& layer : layers_) {
      if (layer != layers_.front()) x = at::relu(x);
      x = sheaf::forward(*layer, x);
    }
    return loss_or_scores(x, targets);
  }

  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] std::vector<std::string> blocks() const override { return {}; }

 private:
  Shape shape_;
  std::vector<std::shared_ptr<torch::nn::LinearImpl>> layers_;
};

}  // namespace

std::shared_ptr<Model> build_cnn(const Shape& shape) { return std::make_shared<Cnn>(shape); }

std::shared_ptr<Model> build_mlp(const Shape& shape) { return std::make_shared<Mlp>(shape); }

}  // namespace sheaf::models
