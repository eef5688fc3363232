#include <utility>

#include "plan/blocks.h"
#include "plan/layers.h"
#include "plan/parameter_places.h"

namespace sheaf::plan {
namespace {

using llama::Place;

/// nn::rotate: the result, and half of it in the wider type at a time.
template <class Take>
Held rotated(const Pass& pass, std::int64_t bytes, const Take& take) {
  Held result = take(bytes);
  take(bytes / 2 * 4 / pass.element()).reset();
  return result;
}

class LlamaBlock final : public Block {
 public:
  LlamaBlock(std::size_t first, bool rotates) : first_(first), rotates_(rotates) {}

  Held forward(const Pass& pass, Held x) override {
    const bool is_fused = makes_norms_again(pass);
    x_ = std::move(x);
    Held mixed = attend(pass, norm_forward(pass, statistics1_));
    y_ = is_fused ? std::move(mixed) : pass.made(pass.width());
    mixed.reset();
    Held made = feed_forward(pass, norm_forward(pass, statistics2_));
    return is_fused ? made : pass.made(pass.width());
  }

  Held backward(const Pass& pass, Held gradient) override {
    gradient = makes_norms_again(pass) ? fused_backward(pass)
                                       : feed_forward_backward(pass, std::move(gradient));
    y_.reset();
    statistics2_.reset();
    gradient = attend_backward(pass, std::move(gradient));
    x_.reset();
    statistics1_.reset();
    return gradient;
  }

 private:
  [[nodiscard]] Weight weight(Place place, std::int64_t in, std::int64_t out) const {
    return {.place = first_ + place, .in = in, .out = out};
  }

  static Held norm_forward(const Pass& pass, Held& statistics) {
    return makes_norms_again(pass) ? fused_norm_forward(pass, statistics, 1)
                                   : rms_norm_forward(pass, statistics);
  }

  Held attend(const Pass& pass, Held normed) {
    if (!makes_norms_again(pass)) input1_ = normed;
    const auto take = [&](std::int64_t bytes) { return pass.made(bytes); };
    Held q = pass.made(pass.queries());
    Held k = pass.made(pass.keys());
    const Held v = pass.made(pass.keys());
    normed.reset();
    if (rotates_ && !makes_norms_again(pass)) {
      q = rotated(pass, pass.queries(), take);
      k = rotated(pass, pass.keys(), take);
    }
    attention_.q = q;
    attention_.k = k;
    attention_.v = v;
    joined_ = attention_forward(
        pass,
        attention_,
        rotates_ && !makes_norms_again(pass) ? HeadLayout::heads : HeadLayout::rows);
    return pass.made(pass.width());
  }

  Held feed_forward(const Pass& pass, Held normed) {
    const std::int64_t inner = pass.matrix(pass.model.hidden);
    gate_ = pass.made(inner);
    up_ = pass.made(inner);
    if (!makes_norms_again(pass)) input2_ = normed;
    normed.reset();
    product_ = pass.made(inner);
    Held result = pass.made(pass.width());
    if (makes_norms_again(pass)) product_.reset();
    return result;
  }

  /// In one piece: the product is made again with the gradients of gate and up.
  Held fused_backward(const Pass& pass) {
    const std::int64_t d = pass.model.width;
    const std::int64_t h = pass.model.hidden;
    Held of_product = pass.temporary(pass.matrix(h));
    Held of_both = pass.temporary(2 * pass.matrix(h));
    product_ = pass.temporary(pass.matrix(h));
    weight_gradient(pass, weight(Place::down, h, d));
    product_.reset();
    Held result = fused_norm_backward(
        pass, {first_ + Place::output_norm}, {weight(Place::gate, d, h), weight(Place::up, d, h)});
    gate_.reset();
    up_.reset();
    return result;
  }

  Held feed_forward_backward(const Pass& pass, Held gradient) {
    const std::int64_t d = pass.model.width;
    const std::int64_t h = pass.model.hidden;
    Held of_product = linear_backward(pass, gradient, weight(Place::down, h, d));
    product_.reset();
    auto [of_gate, of_up] = gate_backward(pass, std::move(of_product));
    Held result = linear_backward(pass, std::move(of_up), weight(Place::up, d, h));
    // The second one is added to the first.
    Held second = linear_backward(pass, std::move(of_gate), weight(Place::gate, d, h));
    input2_.reset();
    second.reset();
    const Held of_y = rms_norm_backward(pass, std::move(result), first_ + Place::output_norm);
    return gradient;  // to which it is added
  }

  struct GateGradients {
    Held gate, up;
  };

  GateGradients gate_backward(const Pass& pass, Held /*gradient*/) {
    const std::int64_t inner = pass.matrix(pass.model.hidden);
    const bool by_operators = !pass.has_cpu_kernels();
    const Held times_up = by_operators ? pass.temporary(inner) : nullptr;
    GateGradients out{.gate = pass.temporary(inner)};
    const Held activated = by_operators ? pass.temporary(inner) : nullptr;
    out.up = pass.temporary(inner);
    gate_.reset();
    up_.reset();
    return out;
  }

  Held attend_backward(const Pass& pass, Held gradient) {
    const std::int64_t d = pass.model.width;
    const std::int64_t queries = pass.model.heads * pass.model.head_size;
    const std::int64_t keys = pass.model.kv_heads * pass.model.head_size;
    Held of_mixed = linear_backward(pass, gradient, weight(Place::o, queries, d));
    joined_.reset();
    AttentionGradients parts =
        attention_backward(pass, std::move(of_mixed), std::exchange(attention_, {}));
    if (makes_norms_again(pass)) return projections_backward(pass, std::move(parts));
    const auto take = [&](std::int64_t bytes) { return pass.temporary(bytes); };
    if (rotates_) {
      parts.k = rotated(pass, pass.keys(), take);
      parts.q = rotated(pass, pass.queries(), take);
    }
    Held result = linear_backward(pass, std::move(parts.v), weight(Place::v, d, keys));
    Held more = linear_backward(pass, std::move(parts.k), weight(Place::k, d, keys));
    more.reset();
    more = linear_backward(pass, std::move(parts.q), weight(Place::q, d, queries));
    more.reset();
    input1_.reset();
    const Held of_x = rms_norm_backward(pass, std::move(result), first_ + Place::input_norm);
    return gradient;  // to which it is added
  }

  /// In one piece: the gradients side by side, and the norm again.
  Held projections_backward(const Pass& pass, AttentionGradients parts) const {
    const std::int64_t d = pass.model.width;
    const std::int64_t queries = pass.model.heads * pass.model.head_size;
    const std::int64_t keys = pass.model.kv_heads * pass.model.head_size;
    // On CPUs attention leaves them side by side, but they are copied to be rotated.
    Held side_by_side;
    if (rotates_ || !pass.has_cpu_kernels() || pass.model.attention_dropout > 0) {
      side_by_side = pass.temporary(pass.queries() + 2 * pass.keys());
      parts = {};
    }
    return fused_norm_backward(
        pass,
        {first_ + Place::input_norm},
        {weight(Place::q, d, queries), weight(Place::k, d, keys), weight(Place::v, d, keys)});
  }

  std::size_t first_;
  bool rotates_;
  Held x_, statistics1_, input1_, joined_, y_, statistics2_, input2_, gate_, up_, product_;
  AttentionSaved attention_;
};

}  // namespace

std::unique_ptr<Block> make_llama_block(std::size_t first_parameter, bool rotates) {
  return std::make_unique<LlamaBlock>(first_parameter, rotates);
}

}  // namespace sheaf::plan
