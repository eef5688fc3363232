#include "tower.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "sheaf/module/forward.h"

namespace sheaf::testing {
namespace {

constexpr std::int64_t kBatch = 4;

at::Tensor waves(at::IntArrayRef shape, double start) {
  return at::arange(c10::multiply_integers(shape), at::kFloat).add(start).sin().view(shape);
}

ShardOptions recording(ShardOptions options, const std::shared_ptr<Moments>& moments) {
  options.ledger = {};
  options.on_event = [moments](const sharding::Event& event) {
    const std::string kind(name(event.kind));
    moments->push_back(event.unit.empty() ? kind : kind + " " + std::string(event.unit));
  };
  return options;
}

int rank_of(const ShardOptions& options) {
  return options.group ? options.group->rank() : options.mesh->world().rank();
}

}  // namespace

Tower::Tower(const TowerOptions& options) : order(static_cast<std::size_t>(options.blocks)) {
  std::iota(order.begin(), order.end(), std::size_t{0});
  first_ = register_parameter("first", at::empty({options.width}));
  last_ = register_parameter("last", at::empty({options.width}));
  if (options.idle) register_parameter("idle", at::empty({options.width}));
  if (options.buffers) {
    register_buffer("mean", at::zeros({options.width}));
    register_buffer("variance", at::ones({options.width}));
    register_buffer("count", at::zeros({1}, at::kLong));
  }
  register_module("blocks", blocks_);
  for (int i = 0; i < options.blocks; ++i) blocks_->push_back(TowerBlock(options));
  const at::NoGradGuard no_grad;
  for (const auto& item : named_parameters()) {
    item.value().copy_(waves(item.value().sizes(), static_cast<double>(item.key().size())).mul(.2));
  }
}

at::Tensor Tower::forward(const at::Tensor& x) {
  at::Tensor y = x.to(first_.scalar_type()) + first_;
  for (const std::size_t i : order) {
    y = sheaf::forward(*blocks_[i]->as<TowerBlock>(), y);
    if (!on_backward || !y.requires_grad()) continue;
    y.register_hook([this, i](const at::Tensor&) { on_backward(i); });
  }
  return (y * last_).sum();
}

::testing::AssertionResult before(const Moments& moments,
                                  const std::string& earlier,
                                  const std::string& later) {
  const auto a = std::find(moments.begin(), moments.end(), earlier);
  const auto b = std::find(moments.begin(), moments.end(), later);
  if (a < b && b != moments.end()) return ::testing::AssertionSuccess();
  auto failure = ::testing::AssertionFailure();
  failure << "\"" << earlier << "\" was not before \"" << later << "\" in:";
  for (const std::string& moment : moments) failure << "\n  " << moment;
  return failure;
}

std::string name_of(Stage stage) {
  constexpr std::array kNames{"ddp", "zero1", "zero2", "zero3"};
  return kNames.at(static_cast<std::size_t>(stage));
}

Session::Session(const TowerOptions& tower, ShardOptions options)
    : moments_(std::make_shared<Moments>()),
      model_(std::make_shared<Tower>(tower)),
      state_(shard(*model_, recording(options, moments_))),
      optimizer_(state_.slots(), {.learning_rate = 1e-2}),
      input_(waves({kBatch, tower.width}, rank_of(options))) {
  model_->on_backward = [moments = moments_](std::size_t block) {
    moments->push_back("backward came to blocks." + std::to_string(block));
  };
}

void Session::forward_and_backward() { sheaf::forward(*model_, input_).backward(); }

void Session::evaluate() {
  const at::NoGradGuard no_grad;
  static_cast<void>(sheaf::forward(*model_, input_));
}

void Session::step(int passes) {
  for (int pass = 0; pass < passes; ++pass) {
    std::optional<sharding::NoSyncScope> local;
    if (pass + 1 < passes) local.emplace(state_.no_sync());
    forward_and_backward();
  }
  if (before_step) before_step();
  optimizer_.step();
}

void Session::steps(int count) {
  for (int i = 0; i < count; ++i) step();
}

std::int64_t Session::num_elements() const {
  std::int64_t sum = 0;
  for (const auto& unit : state_.units()) sum += unit.num_elements + unit.num_padding;
  return sum;
}

std::int64_t Session::num_elements(const std::string& unit) const {
  for (const auto& info : state_.units()) {
    if (info.name == unit) return info.num_elements + info.num_padding;
  }
  ADD_FAILURE() << "no unit " << unit;
  return 0;
}

}  // namespace sheaf::testing
