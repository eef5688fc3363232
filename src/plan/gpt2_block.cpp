#include <utility>

#include "plan/blocks.h"
#include "plan/layers.h"
#include "plan/parameter_places.h"

namespace sheaf::plan {
namespace {

using gpt2::Place;

class Gpt2Block final : public Block {
 public:
  explicit Gpt2Block(std::size_t first) : first_(first) {}

  Held forward(const Pass& pass, Held x) override {
    x_ = std::move(x);
    Held normed = layer_norm_forward(pass, statistics1_);
    Held mixed = attend(pass, std::move(normed));
    y_ = is_fused(pass) ? std::move(mixed) : pass.made(pass.width());
    mixed.reset();
    normed = layer_norm_forward(pass, statistics2_);
    Held made = feed_forward(pass, std::move(normed));
    return is_fused(pass) ? made : pass.made(pass.width());
  }

  Held backward(const Pass& pass, Held gradient) override {
    gradient = is_fused(pass) ? fused_feed_forward_backward(pass)
                              : by_layers_feed_forward_backward(pass, std::move(gradient));
    y_.reset();
    statistics2_.reset();
    gradient = attend_backward(pass, std::move(gradient));
    x_.reset();
    statistics1_.reset();
    return gradient;
  }

 private:
  [[nodiscard]] Weight weight(Place place, std::int64_t in, std::int64_t out) const {
    return {.place = first_ + place, .in = in, .out = out, .bias = true};
  }

  /// Whether the feed-forward part is one piece, and the product behind attention adds the
  /// residual.
  static bool is_fused(const Pass& pass) {
    return makes_norms_again(pass) && pass.model.dropout == 0;
  }

  Held attend(const Pass& pass, Held normed) {
    const Held qkv = pass.made(3 * pass.width());
    if (!makes_norms_again(pass)) input1_ = std::move(normed);
    normed.reset();
    attention_.q = attention_.k = attention_.v = qkv;
    joined_ = attention_forward(pass, attention_, HeadLayout::rows);
    return dropout_forward(pass, pass.made(pass.width()), pass.model.width);
  }

  Held feed_forward(const Pass& pass, Held normed) {
    inner_ = pass.made(pass.matrix(pass.model.hidden));
    Held activated = pass.made(pass.matrix(pass.model.hidden));
    if (!is_fused(pass)) input2_ = std::move(normed);
    // Only what is fused with the next product is made again in backward.
    if (keeps_gelu(pass)) activated_ = activated;
    Held result = pass.made(pass.width());
    activated.reset();
    return dropout_forward(pass, std::move(result), pass.model.width);
  }

  static bool keeps_gelu(const Pass& pass) {
    return pass.setting.device == Device::cpu && !pass.has_cpu_kernels();
  }

  Held fused_feed_forward_backward(const Pass& pass) {
    const std::int64_t d = pass.model.width;
    const std::int64_t h = pass.model.hidden;
    const Held of_inner = pass.temporary(pass.matrix(h));
    Held again = pass.temporary(pass.matrix(h));
    weight_gradient(pass, weight(Place::mlp_proj, h, d));
    again.reset();
    Held result = fused_norm_backward(
        pass, {first_ + Place::ln_2, /*bias=*/true}, {weight(Place::c_fc, d, h)});
    inner_.reset();
    return result;
  }

  Held by_layers_feed_forward_backward(const Pass& pass, Held gradient) {
    const std::int64_t d = pass.model.width;
    const std::int64_t h = pass.model.hidden;
    const Held after = dropout_backward(pass, gradient, d);
    Held again =
        keeps_gelu(pass) ? std::exchange(activated_, nullptr) : pass.temporary(pass.matrix(h));
    weight_gradient(pass, weight(Place::mlp_proj, h, d));
    again.reset();
    Held of_gelu = pass.temporary(pass.matrix(h));
    Held of_inner = pass.temporary(pass.matrix(h));
    of_gelu.reset();
    inner_.reset();
    Held of_mlp = linear_backward(pass, std::move(of_inner), weight(Place::c_fc, d, h));
    input2_.reset();
    const Held of_y = layer_norm_backward(pass, std::move(of_mlp), first_ + Place::ln_2);
    return gradient;  // to which it is added
  }

  Held attend_backward(const Pass& pass, Held gradient) {
    const std::int64_t d = pass.model.width;
    Held after = dropout_backward(pass, gradient, d);
    Held of_mixed = linear_backward(pass, std::move(after), weight(Place::attn_proj, d, d));
    joined_.reset();
    AttentionGradients parts =
        attention_backward(pass, std::move(of_mixed), std::exchange(attention_, {}));
    // On CPUs attention leaves them side by side.
    const bool is_whole =
        makes_norms_again(pass) && pass.has_cpu_kernels() && pass.model.attention_dropout == 0;
    Held of_qkv;
    if (!is_whole) {
      of_qkv = pass.temporary(3 * pass.width());
      parts = {};
    }
    if (makes_norms_again(pass)) {
      return fused_norm_backward(
          pass, {first_ + Place::ln_1, /*bias=*/true}, {weight(Place::c_attn, d, 3 * d)});
    }
    Held result = linear_backward(pass, std::move(of_qkv), weight(Place::c_attn, d, 3 * d));
    input1_.reset();
    const Held of_x = layer_norm_backward(pass, std::move(result), first_ + Place::ln_1);
    return gradient;  // to which it is added
  }

  std::size_t first_;
  Held x_, statistics1_, input1_, joined_, y_, statistics2_, input2_, inner_, activated_;
  AttentionSaved attention_;
};

}  // namespace

std::unique_ptr<Block> make_gpt2_block(std::size_t first_parameter) {
  return std::make_unique<Gpt2Block>(first_parameter);
}

}  // namespace sheaf::plan
