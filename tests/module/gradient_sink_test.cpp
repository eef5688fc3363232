#include "sheaf/module/gradient_sink.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace sheaf::module {
namespace {

/// Keeps work until it is asked to do it.
class Later final : public Beside {
 public:
  void run(const std::function<void()>& work, std::vector<at::Tensor> reads) override {
    work_.push_back(work);
    reads_ = std::move(reads);
  }
  void do_all() {
    for (const auto& work : work_) work();
  }
  [[nodiscard]] const std::vector<at::Tensor>& reads() const { return reads_; }

 private:
  std::vector<std::function<void()>> work_;
  std::vector<at::Tensor> reads_;
};

TEST(GradientTarget, IsFilledRightAway) {
  const GradientTarget target{.memory = at::zeros({2})};
  target.fill([&] { target.memory.fill_(3); }, {});
  EXPECT_EQ(target.memory[0].item<float>(), 3);
}

TEST(GradientTarget, IsLeftToWhoIsBesideWithWhatItReads) {
  Later later;
  const GradientTarget target{.memory = at::zeros({2}), .beside = &later};
  const at::Tensor read = at::ones({2});
  target.fill([&] { target.memory.copy_(read); }, {read});
  EXPECT_EQ(target.memory[0].item<float>(), 0);
  ASSERT_EQ(later.reads().size(), 1U);
  EXPECT_TRUE(later.reads()[0].is_same(read));
  later.do_all();
  EXPECT_EQ(target.memory[0].item<float>(), 1);
}

}  // namespace
}  // namespace sheaf::module
