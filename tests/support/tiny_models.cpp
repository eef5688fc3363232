#include "tiny_models.h"

#include <mutex>

#include <torch/nn/functional.h>

#include "sheaf/module/forward.h"
#include "sheaf/sharding/sync_batch_norm.h"

namespace sheaf::testing {
namespace {

namespace nn = torch::nn;
constexpr std::int64_t kVocabulary = 23;
constexpr std::int64_t kWidth = 12;
constexpr std::int64_t kContext = 7;

at::Tensor sum_of_losses(const at::Tensor& logits, const at::Tensor& targets) {
  return at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum);
}

/// Random numbers that depend on the arguments alone.
at::Generator generator(std::int64_t seed) {
  return at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(seed));
}

struct DenseImpl : nn::Module {
  DenseImpl(std::int64_t in, std::int64_t out)
      : linear(register_module("linear", nn::Linear(in, out))) {}
  at::Tensor forward(const at::Tensor& x) { return at::tanh(linear(x)); }
  nn::Linear linear;
};
TORCH_MODULE(Dense);

struct Mlp final : TinyModel {
  Mlp() {
    first = register_module("first", Dense(10, 17));
    second = register_module("second", Dense(17, 17));
    last = register_module("last", Dense(17, 5));
  }
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    at::Tensor x = sheaf::forward(*first, inputs);
    x = sheaf::forward(*second, x);
    return sum_of_losses(sheaf::forward(*last, x), targets);
  }
  Dense first{nullptr}, second{nullptr}, last{nullptr};
};

struct BlockImpl : nn::Module {
  BlockImpl() {
    norm1 = register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({kWidth})));
    qkv = register_module("qkv", nn::Linear(kWidth, 3 * kWidth));
    out = register_module("out", nn::Linear(kWidth, kWidth));
    norm2 = register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({kWidth})));
    up = register_module("up", nn::Linear(kWidth, 2 * kWidth));
    down = register_module("down", nn::Linear(2 * kWidth, kWidth));
  }
  at::Tensor forward(const at::Tensor& x) {
    const auto parts = qkv(norm1(x)).chunk(3, -1);
    const at::Tensor scores = at::softmax(parts[0].matmul(parts[1].transpose(-1, -2)) * 0.3, -1);
    const at::Tensor y = x + out(scores.matmul(parts[2]));
    return y + down(at::gelu(up(norm2(y))));
  }
  nn::LayerNorm norm1{nullptr}, norm2{nullptr};
  nn::Linear qkv{nullptr}, out{nullptr}, up{nullptr}, down{nullptr};
};
TORCH_MODULE(Block);

/// The head is the embedding's weight, registered once more under its own name.
struct HeadImpl : nn::Module {
  explicit HeadImpl(const at::Tensor& tied) : weight(register_parameter("weight", tied)) {}
  at::Tensor forward(const at::Tensor& x) { return x.matmul(weight.t()); }
  at::Tensor weight;
};
TORCH_MODULE(Head);

struct Gpt final : TinyModel {
  Gpt() {
    tokens = register_module("tokens", nn::Embedding(kVocabulary, kWidth));
    positions = register_parameter("positions", at::randn({kContext, kWidth}) * 0.1);
    blocks = register_module("blocks", nn::ModuleList());
    for (int i = 0; i < 3; ++i) blocks->push_back(Block());
    norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({kWidth})));
    head = register_module("head", Head(tokens->weight));
  }
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    at::Tensor x = tokens(inputs) + positions;
    for (const auto& block : *blocks) x = sheaf::forward(*block->as<Block>(), x);
    const at::Tensor logits = sheaf::forward(*head, norm(x));
    return sum_of_losses(logits.flatten(0, 1), targets.flatten());
  }
  nn::Embedding tokens{nullptr};
  at::Tensor positions;
  nn::ModuleList blocks{nullptr};
  nn::LayerNorm norm{nullptr};
  Head head{nullptr};
};

struct ConvolutionImpl : nn::Module {
  ConvolutionImpl(std::int64_t in, std::int64_t out, std::optional<comm::Group> ranks)
      : group(std::move(ranks)) {
    conv =
        register_module("conv", nn::Conv2d(nn::Conv2dOptions(in, out, 3).padding(1).bias(false)));
    norm = register_module("norm", nn::BatchNorm2d(out));
  }
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor y = conv(x);
    if (!group) return at::tanh(norm(y));
    norm->num_batches_tracked.add_(1);
    return at::tanh(sync_batch_norm(y,
                                    {.weight = norm->weight,
                                     .bias = norm->bias,
                                     .running_mean = norm->running_mean,
                                     .running_var = norm->running_var},
                                    *group,
                                    {.training = is_training()}));
  }
  std::optional<comm::Group> group;
  nn::Conv2d conv{nullptr};
  nn::BatchNorm2d norm{nullptr};
};
TORCH_MODULE(Convolution);

struct Cnn final : TinyModel {
  explicit Cnn(const std::optional<comm::Group>& group) {
    first = register_module("first", Convolution(1, 3, group));
    second = register_module("second", Convolution(3, 4, group));
    head = register_module("head", nn::Linear(4 * 6 * 6, 5));
  }
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    at::Tensor x = sheaf::forward(*first, inputs.view({-1, 1, 6, 6}));
    x = sheaf::forward(*second, x);
    return sum_of_losses(head(x.flatten(1)), targets);
  }
  Convolution first{nullptr}, second{nullptr};
  nn::Linear head{nullptr};
};

struct Plain final : TinyModel {
  Plain() {
    layers = register_module("layers",
                             nn::Sequential(nn::Linear(10, 16),
                                            nn::Tanh(),
                                            nn::LayerNorm(nn::LayerNormOptions({16})),
                                            nn::Linear(16, 16),
                                            nn::GELU(),
                                            nn::Linear(nn::LinearOptions(16, 16).bias(false)),
                                            nn::Linear(16, 5)));
  }
  at::Tensor loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    return sum_of_losses(layers->forward(inputs), targets);
  }
  nn::Sequential layers{nullptr};
};

Batch classes(std::int64_t step, std::int64_t size, std::int64_t width) {
  at::Generator random = generator(1000 + step);
  return {at::randn({size, width}, random), at::randint(5, {size}, random, at::kLong)};
}

Batch text(std::int64_t step, std::int64_t size) {
  at::Generator random = generator(2000 + step);
  return {at::randint(kVocabulary, {size, kContext}, random, at::kLong),
          at::randint(kVocabulary, {size, kContext}, random, at::kLong)};
}

template <class Model, class... Args>
std::shared_ptr<TinyModel> seeded(Args&&... args) {
  // Ranks may be threads, which share the generator.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  at::manual_seed(7);
  return std::make_shared<Model>(std::forward<Args>(args)...);
}

}  // namespace

Batch Batch::part(std::int64_t index, std::int64_t count) const {
  const std::int64_t each = size() / count;
  return {inputs.narrow(0, index * each, each), targets.narrow(0, index * each, each)};
}

Task mlp_task() {
  return {"mlp",
          [](const auto&) { return seeded<Mlp>(); },
          [](auto step, auto size) { return classes(step, size, 10); }};
}

Task gpt_task() {
  return {"gpt", [](const auto&) { return seeded<Gpt>(); }, text};
}

Task cnn_task() {
  return {"cnn",
          [](const auto& group) { return seeded<Cnn>(group); },
          [](auto step, auto size) { return classes(step, size, 36); }};
}

Task plain_task() {
  return {"plain",
          [](const auto&) { return seeded<Plain>(); },
          [](auto step, auto size) { return classes(step, size, 10); }};
}

std::vector<Task> all_tasks() { return {mlp_task(), gpt_task(), cnn_task(), plain_task()}; }

}  // namespace sheaf::testing
