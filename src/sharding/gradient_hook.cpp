#include "gradient_hook.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>

namespace sheaf::sharding {
namespace {

namespace autograd = torch::autograd;
using Hook = std::unique_ptr<autograd::PostAccumulateGradHook>;

/// LibTorch has one place for such a hook, so this one keeps the hook that was there.
class GradientHook final : public autograd::PostAccumulateGradHook {
 public:
  GradientHook(std::function<void()> added, Hook earlier)
      : added_(std::move(added)), earlier_(std::move(earlier)) {}

  void operator()(const at::Tensor& parameter) override {
    if (earlier_) (*earlier_)(parameter);
    added_();
  }

  [[nodiscard]] Hook release_earlier() { return std::move(earlier_); }

 private:
  std::function<void()> added_;
  Hook earlier_;
};

}  // namespace

void hook_gradient(const at::Tensor& parameter, std::function<void()> added) {
  Hook earlier = std::move(autograd::impl::post_acc_grad_hooks(parameter));
  autograd::impl::set_post_acc_grad_hooks(
      parameter, std::make_unique<GradientHook>(std::move(added), std::move(earlier)));
}

void unhook_gradient(const at::Tensor& parameter) {
  Hook& hook = autograd::impl::post_acc_grad_hooks(parameter);
  if (auto* own = dynamic_cast<GradientHook*>(hook.get())) hook = own->release_earlier();
}

bool has_gradient_hook(const at::Tensor& parameter) {
  return dynamic_cast<GradientHook*>(autograd::impl::post_acc_grad_hooks(parameter).get()) !=
         nullptr;
}

}  // namespace sheaf::sharding
