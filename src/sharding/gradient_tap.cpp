#include "gradient_tap.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <utility>

namespace sheaf::sharding {
namespace {

namespace autograd = torch::autograd;
using autograd::variable_list;

class BeforeHook final : public autograd::FunctionPreHook {
 public:
  explicit BeforeHook(std::function<void()> before) : before_(std::move(before)) {}
  variable_list operator()(const variable_list& gradients) override {
    before_();
    return gradients;
  }

 private:
  std::function<void()> before_;
};

/// LibTorch calls it once in a pass, when all uses of the parameter are done, also if none of them
/// gave a gradient.
class AfterHook final : public autograd::FunctionPostHook, public module::GradientSink {
 public:
  explicit AfterHook(GradientListener listener) : listener_(std::move(listener)) {}
  variable_list operator()(const variable_list& outputs, const variable_list& /*inputs*/) override {
    listener_.after();
    return outputs;
  }
  module::GradientTarget open(at::ScalarType type) override { return listener_.open(type); }
  module::EarlyGradientPtr lend(at::ScalarType type) override { return listener_.lend(type); }
  bool settle(const module::EarlyGradient& gradient) override { return listener_.settle(gradient); }

 private:
  GradientListener listener_;
};

bool is_ours(const std::unique_ptr<autograd::FunctionPostHook>& hook) {
  return dynamic_cast<const AfterHook*>(hook.get()) != nullptr;
}

}  // namespace

GradientTap::GradientTap(const at::Tensor& parameter, GradientListener listener)
    : accumulator_(autograd::impl::grad_accumulator(parameter)) {
  accumulator_->add_pre_hook(std::make_unique<BeforeHook>(listener.before));
  hook_ = accumulator_->add_post_hook(std::make_unique<AfterHook>(std::move(listener)));
}

GradientTap::~GradientTap() {
  std::erase_if(accumulator_->pre_hooks(), [](const auto& hook) {
    return dynamic_cast<const BeforeHook*>(hook.get()) != nullptr;
  });
  accumulator_->del_post_hook(hook_);
}

bool is_tapped(const at::Tensor& parameter) {
  const auto accumulator = autograd::impl::try_get_grad_accumulator(parameter);
  return accumulator &&
         std::any_of(accumulator->post_hooks().begin(), accumulator->post_hooks().end(), is_ours);
}

}  // namespace sheaf::sharding
