#include "sheaf/nn/linear_cross_entropy.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/graph_task.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "held.h"
#include "kernels/cross_entropy.h"
#include "kernels/fused_product.h"
#include "kernels/put_scaled.h"
#include "no_second_derivative.h"
#include "sheaf/base/error.h"
#include "sheaf/module/gradient_sink.h"
#include "weight_gradients.h"

namespace sheaf::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Inputs {
  at::Tensor hidden;
  /// Without padding.
  at::Tensor weight;
  at::Tensor targets;
};

/// What is undefined is not wanted.
struct Gradients {
  at::Tensor hidden;
  /// With padding.
  at::Tensor weight;
};

/// Returns as many rows as fit, on CPUs, into a part of the outer cache, or keep a GPU busy. Logits
/// that are there at once count as memory on GPUs: so a quarter of all rows at most. Every chunk
/// but the first reads and writes the weight's gradient once more, which counts where rows are few:
/// so as many logits as the weight has elements do, too; a third of them in fp32, where they take
/// twice the memory and products are slower.
std::int64_t default_chunk_rows(const at::Tensor& hidden, std::int64_t vocabulary) {
  const std::int64_t rows = hidden.size(0), width = hidden.size(1);
  const std::int64_t elements = hidden.is_cpu() ? std::int64_t{1} << 21 : std::int64_t{1} << 27;
  constexpr std::int64_t kFewest = 64;
  const std::int64_t fitting = elements / std::max<std::int64_t>(vocabulary, 1) / kFewest * kFewest;
  const std::int64_t few = hidden.element_size() == 2 ? width : width / 3;
  const std::int64_t most = hidden.is_cpu() ? fitting : std::max(rows / 4, few) / kFewest * kFewest;
  return std::max(std::min(fitting, most), kFewest);
}

/// Returns the type that sums are kept in: fp32 at least.
at::ScalarType wide_type(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

/// Note [Odd vocabularies]: on GPUs products whose sizes are no multiple of a vector's are several
/// times slower. So rows of logits begin at whole vectors, and the last few tokens have a small
/// product of their own: nothing has to be stored with padding.
constexpr std::int64_t kVector = 8;

/// Calls `body` with the first token and the number of tokens of each part.
template <class Body>
void for_parts(const at::Tensor& weight, const Body& body) {
  const std::int64_t vocabulary = weight.size(0);
  const std::int64_t even = weight.is_cpu() ? vocabulary : vocabulary / kVector * kVector;
  if (even > 0) body(0, even);
  if (even < vocabulary) body(even, vocabulary - even);
}

/// Adds up the weight's gradient over the chunks. `result` is of a wide type: the sum of many rows
/// may be beyond fp16 before it is scaled.
class WeightGradient {
 public:
  WeightGradient(const at::Tensor& weight, const at::Tensor& result) : result_(result) {
    if (!result.defined()) return;
    real_ = result.narrow(0, 0, weight.size(0));
    result.narrow(0, weight.size(0), result.size(0) - weight.size(0)).zero_();
  }

  void add(const at::Tensor& of_logits, const at::Tensor& hidden) {
    if (!result_.defined()) return;
    for_parts(real_, [&](std::int64_t begin, std::int64_t size) {
      fused_product({.a = of_logits.narrow(1, begin, size).t(),
                     .b = hidden,
                     .result = real_.narrow(0, begin, size),
                     .adds = !is_first_});
    });
    is_first_ = false;
  }

  void finish() {
    if (result_.defined() && is_first_) real_.zero_();
  }

 private:
  at::Tensor result_;
  at::Tensor real_;
  bool is_first_ = true;
};

/// Returns room for logits; see Note [Odd vocabularies].
at::Tensor room_for_logits(const at::Tensor& hidden, std::int64_t rows, std::int64_t vocabulary) {
  constexpr std::int64_t kColumns = 128;
  const std::int64_t stride =
      hidden.is_cpu() ? vocabulary : (vocabulary + kColumns - 1) / kColumns * kColumns;
  return at::empty({rows, stride}, hidden.options()).narrow(1, 0, vocabulary);
}

at::Tensor logits_of(const at::Tensor& hidden, const at::Tensor& weight) {
  if (hidden.is_cpu()) return fused_product({.a = hidden, .b = weight.t()});
  at::Tensor logits = room_for_logits(hidden, hidden.size(0), weight.size(0));
  for_parts(weight, [&](std::int64_t begin, std::int64_t size) {
    fused_product({.a = hidden,
                   .b = weight.narrow(0, begin, size).t(),
                   .result = logits.narrow(1, begin, size)});
  });
  return logits;
}

/// Writes the gradient of hidden rows.
void write_back(const at::Tensor& of_logits, const at::Tensor& weight, const at::Tensor& result) {
  if (of_logits.is_cpu()) {
    result.copy_(fused_product({.a = of_logits, .b = weight}));
    return;
  }
  for_parts(weight, [&](std::int64_t begin, std::int64_t size) {
    fused_product({.a = of_logits.narrow(1, begin, size),
                   .b = weight.narrow(0, begin, size),
                   .result = result,
                   .adds = begin > 0});
  });
}

/// Returns the loss as an fp64 scalar and fills the gradients.
at::Tensor run_chunks(const Inputs& in, std::int64_t chunk_rows, const Gradients& out) {
  at::Tensor loss = at::zeros({}, in.hidden.options().dtype(at::kDouble));
  WeightGradient of_weight(in.weight, out.weight);
  const bool with_gradient = out.hidden.defined() || out.weight.defined();
  const std::int64_t rows = in.hidden.size(0);
  for (std::int64_t begin = 0; begin < rows; begin += chunk_rows) {
    const std::int64_t size = std::min(chunk_rows, rows - begin);
    const at::Tensor hidden = in.hidden.narrow(0, begin, size);
    const ChunkLoss chunk = cross_entropy_of_chunk(
        {logits_of(hidden, in.weight), in.targets.narrow(0, begin, size), kIgnoredTarget},
        with_gradient);
    loss += chunk.loss;
    if (out.hidden.defined()) {
      write_back(chunk.gradient, in.weight, out.hidden.narrow(0, begin, size));
    }
    of_weight.add(chunk.gradient, hidden);
  }
  of_weight.finish();
  return loss;
}

/// Returns `gradient` times the scalar `by` in the given type, in place if no later pass needs it.
/// The factor, 1 / tokens or a loss scale, is never rounded to a narrow type.
at::Tensor scaled(const at::Tensor& gradient, const at::Tensor& by, at::ScalarType type) {
  if (!gradient.defined()) return {};
  const bool keep = torch::autograd::get_current_graph_task_keep_graph();
  at::Tensor result =
      !keep && gradient.scalar_type() == type ? gradient : at::empty_like(gradient, type);
  put_scaled(gradient, by, result);
  return result;
}

/// How a pass is made.
struct Pass {
  std::int64_t chunk_rows = 1;
  bool wants_hidden = false;
  bool wants_weight = false;
};

/// The weight's gradient, which the forward pass has computed already: where it belongs, if its
/// place could be had, else in a tensor of its own.
module::EarlyGradientPtr room_for(const at::Tensor& weight) {
  const at::ScalarType type = wide_type(weight);
  if (auto lent = module::lend_gradient(weight, type)) return lent;
  return std::make_shared<module::EarlyGradient>(at::empty_like(weight, type),
                                                 /*in_place=*/false);
}

struct LinearCrossEntropy : torch::autograd::Function<LinearCrossEntropy> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& hidden,
                            const at::Tensor& weight,
                            const Inputs& in,
                            const Pass& pass) {
    const auto of_weight = pass.wants_weight ? room_for(weight) : module::EarlyGradientPtr{};
    const Gradients gradients{pass.wants_hidden ? at::empty_like(in.hidden) : at::Tensor(),
                              of_weight ? of_weight->values() : at::Tensor()};
    const at::Tensor loss = run_chunks(in, pass.chunk_rows, gradients);
    context->save_for_backward({gradients.hidden});
    hold(context, of_weight);
    context->saved_data["type"] = hidden.scalar_type();
    context->saved_data["weight_type"] = weight.scalar_type();
    return loss.to(hidden.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuse_second_derivative("linear_cross_entropy");
    const variable_list saved = context->get_saved_variables();
    return {scaled(saved[0], gradients[0], context->saved_data["type"].toScalarType()),
            weight_gradient(context, gradients[0]),
            {},
            {}};
  }

  /// Returns nothing where the gradient is in its place.
  static at::Tensor weight_gradient(AutogradContext* context, const at::Tensor& factor) {
    const auto kept = held<module::EarlyGradientPtr>(context);
    if (!kept) return {};
    module::EarlyGradient& early = *kept;
    const bool keep = torch::autograd::get_current_graph_task_keep_graph();
    if (!keep) {
      const at::Tensor place = module::settle_gradient(1, early);
      if (place.defined()) {
        put_scaled(place, factor, place);
        return {};
      }
    }
    early.move_out();
    const at::Tensor values = keep ? early.values() : early.take();
    const auto type = context->saved_data["weight_type"].toScalarType();
    const module::GradientTarget target = open_product_gradient(1, type);
    if (!target) return scaled(values, factor, type);
    put_scaled(values, factor, target.memory, /*adds=*/!target.is_new);
    return {};
  }
};

void check_targets(const at::Tensor& targets, std::int64_t vocabulary) {
  if (!targets.is_cpu()) return;
  const at::Tensor dense = targets.contiguous();
  const auto* const begin = dense.const_data_ptr<std::int64_t>();
  const auto* const end = begin + dense.numel();
  const auto* const wrong = std::find_if(begin, end, [&](std::int64_t target) {
    return target != kIgnoredTarget && (target < 0 || target >= vocabulary);
  });
  if (wrong == end) return;
  throw UsageError(fmt::format("target {} of row {} is not in the vocabulary of {} tokens",
                               *wrong,
                               wrong - begin,
                               vocabulary));
}

void check_shapes(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& targets) {
  if (hidden.dim() == 2 && weight.dim() == 2 && targets.dim() == 1 &&
      hidden.size(1) == weight.size(1) && hidden.size(0) == targets.size(0) &&
      targets.scalar_type() == at::kLong && hidden.device() == weight.device() &&
      hidden.device() == targets.device()) {
    return;
  }
  throw UsageError(
      fmt::format("linear_cross_entropy needs hidden [rows, width], weight [vocabulary, width] and "
                  "int64 targets [rows] on one device, got {} on {}, {} on {} and {} of {} on {}",
                  fmt::streamed(hidden.sizes()),
                  hidden.device().str(),
                  fmt::streamed(weight.sizes()),
                  weight.device().str(),
                  fmt::streamed(targets.sizes()),
                  c10::toString(targets.scalar_type()),
                  targets.device().str()));
}

}  // namespace

at::Tensor linear_cross_entropy(const at::Tensor& hidden,
                                const at::Tensor& weight,
                                const at::Tensor& targets,
                                const LinearCrossEntropyOptions& options) {
  check_shapes(hidden, weight, targets);
  const std::int64_t vocabulary = options.vocabulary < 0 ? weight.size(0) : options.vocabulary;
  if (vocabulary > weight.size(0)) {
    throw UsageError(fmt::format(
        "a weight of {} rows has no vocabulary of {} tokens", weight.size(0), vocabulary));
  }
  check_targets(targets, vocabulary);
  const std::int64_t chunk_rows =
      options.chunk_rows > 0 ? options.chunk_rows : default_chunk_rows(hidden, vocabulary);
  const bool is_on = at::GradMode::is_enabled();
  return LinearCrossEntropy::apply(
      hidden,
      weight,
      Inputs{hidden.detach().contiguous(), weight.detach().narrow(0, 0, vocabulary), targets},
      Pass{chunk_rows, is_on && hidden.requires_grad(), is_on && weight.requires_grad()});
}

}  // namespace sheaf::nn
