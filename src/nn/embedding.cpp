#include "sheaf/nn/embedding.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <torch/csrc/autograd/custom_function.h>

#include <ATen/ops/embedding_dense_backward.h>
#include <ATen/ops/empty.h>

#include "kernels/embed_rows.h"
#include "no_second_derivative.h"
#include "rows.h"
#include "sheaf/base/error.h"
#include "weight_gradients.h"

namespace sheaf::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Types that gradients are added in where they belong.
bool can_be_placed(const at::Tensor& gradient) {
  const at::ScalarType type = gradient.scalar_type();
  return gradient.is_cuda() || type == at::kFloat || type == at::kDouble;
}

/// Takes the gradient of a table, which `add` adds to its memory: where it belongs, or returned.
template <class Add>
at::Tensor table_gradient(std::size_t input,
                          const at::Tensor& gradient,
                          std::int64_t rows,
                          const Add& add) {
  const module::GradientTarget target = open_product_gradient(input, gradient.scalar_type());
  at::Tensor memory =
      target ? target.memory : at::empty({rows, gradient.size(-1)}, gradient.options());
  if (!target || target.is_new) memory.zero_();
  add(memory);
  return target ? at::Tensor() : memory;
}

void add_rows_of(const at::Tensor& gradient, const at::Tensor& indices, at::Tensor& target) {
  add_embedding_gradient(as_rows(gradient), indices.reshape({-1}).to(at::kLong), target);
}

struct Embedding : torch::autograd::Function<Embedding> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& weight,
                            const at::Tensor& indices) {
    context->save_for_backward({indices});
    context->saved_data["rows"] = weight.size(0);
    return embed_rows(weight, indices, {}, {});
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor indices = context->get_saved_variables()[0];
    const at::Tensor& gradient = gradients[0];
    const std::int64_t rows = context->saved_data["rows"].toInt();
    // Only LibTorch's operator can be differentiated again.
    if (at::GradMode::is_enabled() || !can_be_placed(gradient)) {
      return {at::embedding_dense_backward(gradient, indices, rows, /*padding_idx=*/-1, false), {}};
    }
    return {
        table_gradient(
            0, gradient, rows, [&](at::Tensor& memory) { add_rows_of(gradient, indices, memory); }),
        {}};
  }
};

/// Texts at positions 0, 1, ...
struct TextEmbedding : torch::autograd::Function<TextEmbedding> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& tokens,
                            const at::Tensor& positions,
                            const at::Tensor& texts) {
    context->save_for_backward({texts});
    context->saved_data["tokens"] = tokens.size(0);
    context->saved_data["positions"] = positions.size(0);
    return embed_rows(tokens, texts, positions, {});
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuse_second_derivative("text_embedding");
    const at::Tensor texts = context->get_saved_variables()[0];
    const at::Tensor gradient = gradients[0].contiguous();
    return {table_gradient(0,
                           gradient,
                           context->saved_data["tokens"].toInt(),
                           [&](at::Tensor& memory) { add_rows_of(gradient, texts, memory); }),
            table_gradient(1,
                           gradient,
                           context->saved_data["positions"].toInt(),
                           [&](at::Tensor& memory) { add_position_gradient(gradient, memory); }),
            {}};
  }
};

}  // namespace

at::Tensor embedding(const at::Tensor& weight, const at::Tensor& indices) {
  return Embedding::apply(weight, indices);
}

at::Tensor text_embedding(const at::Tensor& tokens,
                          const at::Tensor& positions,
                          const at::Tensor& texts) {
  if (texts.dim() != 2 || texts.size(1) > positions.size(0) ||
      tokens.size(1) != positions.size(1)) {
    throw UsageError(fmt::format(
        "text_embedding needs texts [texts, length] no longer than its table of positions, and "
        "tables of one width, got {}, {} and {}",
        fmt::streamed(texts.sizes()),
        fmt::streamed(positions.sizes()),
        fmt::streamed(tokens.sizes())));
  }
  return TextEmbedding::apply(tokens, positions, texts);
}

}  // namespace sheaf::nn
