#include "sheaf/nn/embedding.h"

#include <torch/csrc/autograd/custom_function.h>

#include <ATen/ops/embedding.h>
#include <ATen/ops/embedding_dense_backward.h>

#include "kernels/parallel.h"
#include "rows.h"
#include "sheaf/module/gradient_sink.h"

namespace sheaf::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Adds row i of `rows` to row indices[i] of `target`, one after the other, so that the sum does
/// not depend on the number of threads: these share the columns.
template <class T>
void add_rows(const at::Tensor& target, const at::Tensor& indices, const at::Tensor& rows) {
  constexpr std::int64_t kColumnsPerThread = 64;
  T* const to = target.mutable_data_ptr<T>();
  const T* const from = rows.const_data_ptr<T>();
  const auto* const index = indices.const_data_ptr<std::int64_t>();
  const std::int64_t width = rows.size(1);
  in_parallel({width, kColumnsPerThread}, [&](Part columns) {
    for (std::int64_t i = 0; i < indices.numel(); ++i) {
      T* const row = to + index[i] * width;
      const T* const added = from + i * width;
      for (std::int64_t c = columns.begin; c < columns.end; ++c) row[c] += added[c];
    }
  });
}

void add_to(const module::GradientTarget& target,
            const at::Tensor& indices,
            const at::Tensor& rows) {
  at::Tensor memory = target.memory;
  if (target.is_new) memory.zero_();
  if (!memory.is_cpu()) {
    memory.index_put_({indices}, rows, /*accumulate=*/true);
  } else if (memory.scalar_type() == at::kDouble) {
    add_rows<double>(memory, indices.contiguous(), rows.contiguous());
  } else {
    add_rows<float>(memory, indices.contiguous(), rows.contiguous());
  }
}

struct Embedding : torch::autograd::Function<Embedding> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& weight,
                            const at::Tensor& indices) {
    context->save_for_backward({indices});
    context->saved_data["rows"] = weight.size(0);
    return at::embedding(weight, indices);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor indices = context->get_saved_variables()[0];
    const at::Tensor& gradient = gradients[0];
    const at::ScalarType type = gradient.scalar_type();
    if (type == at::kFloat || type == at::kDouble) {
      if (const auto target = module::open_gradient(0, type)) {
        add_to(target, indices.reshape({-1}).to(at::kLong), as_rows(gradient));
        return {{}, {}};
      }
    }
    const std::int64_t rows = context->saved_data["rows"].toInt();
    return {at::embedding_dense_backward(gradient, indices, rows, /*padding_idx=*/-1, false), {}};
  }
};

}  // namespace

at::Tensor embedding(const at::Tensor& weight, const at::Tensor& indices) {
  return Embedding::apply(weight, indices);
}

}  // namespace sheaf::nn
