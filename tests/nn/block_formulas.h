#pragma once

#include <string>
#include <vector>

#include "outcome.h"
#include "sheaf/nn/blocks.h"

namespace sheaf::nn {

/// A layer in one piece, the same by LibTorch's operators, and inputs for both.
struct BlockCase {
  std::string name;
  Formula own;
  Formula plain;
  Tensors inputs;
};

inline at::Tensor in_out_view(const at::Tensor& weight, WeightLayout layout) {
  return layout == WeightLayout::in_out ? weight : weight.t();
}

inline at::Tensor plain_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  return x * (x.square().mean(-1, true) + epsilon).rsqrt() * weight;
}

inline at::Tensor weight_like(WeightLayout layout, std::int64_t in, std::int64_t out) {
  const at::Tensor weight =
      layout == WeightLayout::in_out ? at::randn({in, out}) : at::randn({out, in});
  return weight * 0.3;
}

inline BlockCase gelu_case(WeightLayout layout, std::int64_t width, std::int64_t hidden) {
  const auto own = [=](const Tensors& in) {
    return gelu_mlp(in[0], {in[1], in[2], 1e-5}, {in[3], in[4]}, {in[5], in[6]}, layout);
  };
  const auto plain = [=](const Tensors& in) {
    const at::Tensor normal = at::layer_norm(in[0], {width}, in[1], in[2], 1e-5);
    const at::Tensor inner = at::matmul(normal, in_out_view(in[3], layout)) + in[4];
    return in[0] + at::matmul(at::gelu(inner, "tanh"), in_out_view(in[5], layout)) + in[6];
  };
  return {"gelu_mlp",
          own,
          plain,
          {at::randn({2, 5, width}),
           at::randn({width}),
           at::randn({width}),
           weight_like(layout, width, hidden),
           at::randn({hidden}),
           weight_like(layout, hidden, width),
           at::randn({width})}};
}

inline BlockCase swiglu_case(std::int64_t width, std::int64_t hidden, bool joined) {
  const auto parts = [=](const Tensors& in) -> Tensors {
    if (!joined) return {in[2], in[3]};
    return {in[2].narrow(0, 0, hidden), in[2].narrow(0, hidden, hidden)};
  };
  const auto own = [=](const Tensors& in) {
    const Tensors both = parts(in);
    return swiglu_mlp(in[0], {in[1], {}, 1e-6}, both[0], both[1], in.back());
  };
  const auto plain = [=](const Tensors& in) {
    const Tensors both = parts(in);
    const at::Tensor normal = plain_norm(in[0], in[1], 1e-6);
    const at::Tensor active =
        at::silu(at::matmul(normal, both[0].t())) * at::matmul(normal, both[1].t());
    return in[0] + at::matmul(active, in.back().t());
  };
  Tensors inputs{at::randn({3, 4, width}), at::randn({width})};
  if (joined) {
    inputs.push_back(weight_like(WeightLayout::out_in, width, 2 * hidden));
  } else {
    inputs.push_back(weight_like(WeightLayout::out_in, width, hidden));
    inputs.push_back(weight_like(WeightLayout::out_in, width, hidden));
  }
  inputs.push_back(weight_like(WeightLayout::out_in, hidden, width));
  return {joined ? "swiglu_mlp joined" : "swiglu_mlp", own, plain, inputs};
}

inline BlockCase residual_case(WeightLayout layout, std::int64_t in_size, std::int64_t out_size) {
  const auto own = [=](const Tensors& in) {
    return linear_with_residual(in[0], {in[1], in[2]}, in[3], layout);
  };
  const auto plain = [=](const Tensors& in) {
    return in[3] + at::matmul(in[0], in_out_view(in[1], layout)) + in[2];
  };
  return {"linear_with_residual",
          own,
          plain,
          {at::randn({3, 4, in_size}),
           weight_like(layout, in_size, out_size),
           at::randn({out_size}),
           at::randn({3, 4, out_size})}};
}

/// q, k, v and the residual in one tensor, each with a factor, so that all gradients differ.
inline at::Tensor mixed(const AttentionInputs& in) {
  return at::cat({in.q * 1.5, in.k * -0.5, in.v * 2, in.residual * 0.7}, -1);
}

/// As GPT-2 has it: one weight with a bias, no rotation.
inline BlockCase packed_case(std::int64_t width) {
  const auto own = [=](const Tensors& in) {
    return mixed(attention_inputs(in[0],
                                  {in[1], in[2], 1e-5},
                                  {{in[3], in[4]}},
                                  {.q_size = width,
                                   .kv_size = width,
                                   .head_size = width / 2,
                                   .layout = WeightLayout::in_out}));
  };
  const auto plain = [=](const Tensors& in) {
    const at::Tensor normal = at::layer_norm(in[0], {width}, in[1], in[2], 1e-5);
    const auto parts = (at::matmul(normal, in[3]) + in[4]).chunk(3, -1);
    return mixed({parts[0], parts[1], parts[2], in[0]});
  };
  return {"attention_inputs packed",
          own,
          plain,
          {at::randn({2, 3, width}),
           at::randn({width}),
           at::randn({width}),
           weight_like(WeightLayout::in_out, width, 3 * width),
           at::randn({3 * width})}};
}

/// As the Llama family has it: three weights, fewer heads of k and v, rotated.
inline BlockCase grouped_case(std::int64_t width, std::int64_t head_size) {
  const std::int64_t kv = head_size;
  const auto table_for = [=](const at::Tensor& x) {
    return make_rotary_table({.head_size = head_size, .num_positions = 6}, x.device());
  };
  const auto own = [=](const Tensors& in) {
    return mixed(attention_inputs(
        in[0],
        {in[1], {}, 1e-6},
        {{in[2]}, {in[3]}, {in[4]}},
        {.q_size = width, .kv_size = kv, .head_size = head_size, .rotary = table_for(in[0])}));
  };
  const auto plain = [=](const Tensors& in) {
    const at::Tensor normal = plain_norm(in[0], in[1], 1e-6);
    const auto turned = [&](const at::Tensor& x) {
      const at::Tensor heads = x.unflatten(-1, {x.size(-1) / head_size, head_size}).transpose(1, 2);
      return rotate(heads, table_for(x)).transpose(1, 2).flatten(-2).to(x.scalar_type());
    };
    return mixed({turned(at::matmul(normal, in[2].t())),
                  turned(at::matmul(normal, in[3].t())),
                  at::matmul(normal, in[4].t()),
                  in[0]});
  };
  return {"attention_inputs grouped",
          own,
          plain,
          {at::randn({2, 5, width}),
           at::randn({width}),
           weight_like(WeightLayout::out_in, width, width),
           weight_like(WeightLayout::out_in, width, kv),
           weight_like(WeightLayout::out_in, width, kv)}};
}

inline std::vector<BlockCase> block_cases() {
  return {gelu_case(WeightLayout::in_out, 16, 64),
          gelu_case(WeightLayout::out_in, 7, 33),
          swiglu_case(16, 40, /*joined=*/false),
          swiglu_case(24, 16, /*joined=*/true),
          residual_case(WeightLayout::out_in, 16, 24),
          residual_case(WeightLayout::in_out, 5, 9),
          packed_case(16),
          packed_case(6),
          grouped_case(32, 8),
          grouped_case(12, 2)};
}

}  // namespace sheaf::nn
