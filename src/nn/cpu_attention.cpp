#include "cpu_attention.h"

#include <torch/csrc/autograd/custom_function.h>

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu.h"
#include "kernels/gemm.h"
#include "kernels/plain.h"
#include "sheaf/base/error.h"

namespace sheaf::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Queries of a block: few enough that a causal block computes little that it cannot see, and enough
// to keep the products efficient.
constexpr std::int64_t kBlock = 64;

/// Returns `x` with heads whose rows are dense. Strides of dims of one element mean nothing.
at::Tensor with_dense_rows(const at::Tensor& x) {
  const bool is_dense = x.size(3) == 1 || x.stride(3) == 1;
  const bool is_apart = x.size(2) == 1 || x.stride(2) >= x.size(3);
  return is_dense && is_apart ? x : x.contiguous();
}

/// Returns a tensor of shape [batch, heads, length, size] that lies as [batch, length, heads,
/// size]: so it becomes rows of a width again, or comes from them, without a copy.
at::Tensor rows_of_heads(const at::Tensor& like) {
  return at::empty({like.size(0), like.size(2), like.size(1), like.size(3)}, like.options())
      .transpose(1, 2);
}

/// One head of one sample as a matrix.
Matrix head_of(const at::Tensor& x, std::int64_t sample, std::int64_t head) {
  auto* const data = const_cast<float*>(x.const_data_ptr<float>());
  const std::int64_t stride = x.size(2) == 1 ? x.size(3) : x.stride(2);
  return {data + sample * x.stride(0) + head * x.stride(1), stride};
}

struct Shape {
  std::int64_t length = 0;
  std::int64_t head_size = 0;
  bool causal = true;

  [[nodiscard]] float scale() const {
    return static_cast<float>(1 / std::sqrt(static_cast<double>(head_size)));
  }
  /// Returns the shape of one document.
  [[nodiscard]] Shape of(Part rows) const { return {rows.end - rows.begin, head_size, causal}; }
};

/// Returns the documents of each sample, as runs of its rows.
std::vector<std::vector<Part>> runs_of(const at::Tensor& positions,
                                       std::int64_t num_samples,
                                       std::int64_t length) {
  std::vector<std::vector<Part>> runs(static_cast<std::size_t>(num_samples));
  if (!positions.defined()) {
    for (auto& of_sample : runs) of_sample.push_back({0, length});
    return runs;
  }
  const at::Tensor rows = positions.contiguous();
  const auto* position = rows.const_data_ptr<std::int64_t>();
  for (auto& of_sample : runs) {
    for (std::int64_t row = 0; row < length; ++row, ++position) {
      if (row == 0 || *position == 0) of_sample.push_back({row, row});
      ++of_sample.back().end;
    }
  }
  return runs;
}

/// Returns how many scores a block of queries has at most.
std::size_t largest_block(const Shape& shape) {
  return static_cast<std::size_t>(kBlock * shape.length);
}

/// The rows [begin, begin + size) of the queries and the keys that they see.
struct Block {
  std::int64_t begin = 0;
  std::int64_t size = 0;
  std::int64_t num_keys = 0;
};

Block block_at(const Shape& shape, std::int64_t begin) {
  const std::int64_t size = std::min(kBlock, shape.length - begin);
  return {begin, size, shape.causal ? begin + size : shape.length};
}

ScoreRows score_rows(const Shape& shape, const Block& block, float* scores, float* log_sums) {
  return {.scores = scores,
          .num_rows = block.size,
          .num_columns = block.num_keys,
          .seen = block.begin + 1,
          .causal = shape.causal,
          .scale = shape.scale(),
          .log_sums = log_sums + block.begin};
}

/// Writes a b^T into `c`, whose rows follow one another.
void times_transposed_into(float* c, Matrix a, Matrix b, const Shape& shape, const Block& block) {
  multiply({.a = a.from_row(block.begin),
            .b = b,
            .c = {c, block.num_keys},
            .m = block.size,
            .n = block.num_keys,
            .k = shape.head_size,
            .transpose_b = true});
}

struct Head {
  Matrix q, k, v, output;
  float* log_sums = nullptr;

  [[nodiscard]] Head from_row(std::int64_t row) const {
    return {
        q.from_row(row), k.from_row(row), v.from_row(row), output.from_row(row), log_sums + row};
  }
};

void attend(const Head& head, const Shape& shape, std::vector<float>& scores) {
  for (std::int64_t begin = 0; begin < shape.length; begin += kBlock) {
    const Block block = block_at(shape, begin);
    times_transposed_into(scores.data(), head.q, head.k, shape, block);
    best_kernels().attend(score_rows(shape, block, scores.data(), head.log_sums));
    multiply({.a = {scores.data(), block.num_keys},
              .b = head.v,
              .c = head.output.from_row(begin),
              .m = block.size,
              .n = shape.head_size,
              .k = block.num_keys});
  }
}

struct HeadGradients {
  Matrix output, q, k, v;

  [[nodiscard]] HeadGradients from_row(std::int64_t row) const {
    return {output.from_row(row), q.from_row(row), k.from_row(row), v.from_row(row)};
  }
};

struct Scratch {
  explicit Scratch(std::size_t size) : weights(size), gradients(size) {}

  std::vector<float> weights;
  std::vector<float> gradients;
};

/// Adds to the gradients of keys and values: `by` has a row per query and a column per key.
void add_transposed(Matrix result, Matrix queries, float* by, std::int64_t size, Block block) {
  multiply({.a = {by, block.num_keys},
            .b = queries.from_row(block.begin),
            .c = result,
            .m = block.num_keys,
            .n = size,
            .k = block.size,
            .adds = true,
            .transpose_a = true});
}

void attend_backward(const Head& head,
                     const HeadGradients& out,
                     const Shape& shape,
                     Scratch& scratch) {
  float* const weights = scratch.weights.data();
  float* const gradients = scratch.gradients.data();
  for (std::int64_t begin = 0; begin < shape.length; begin += kBlock) {
    const Block block = block_at(shape, begin);
    times_transposed_into(weights, head.q, head.k, shape, block);
    times_transposed_into(gradients, out.output, head.v, shape, block);
    best_kernels().attend_gradient(score_rows(shape, block, weights, head.log_sums),
                                   {.gradients = gradients,
                                    .output = head.output.from_row(begin).data,
                                    .output_stride = head.output.stride,
                                    .output_gradient = out.output.from_row(begin).data,
                                    .gradient_stride = out.output.stride,
                                    .head_size = shape.head_size});
    add_transposed(out.v, out.output, weights, shape.head_size, block);
    add_transposed(out.k, head.q, gradients, shape.head_size, block);
    multiply({.a = {gradients, block.num_keys},
              .b = head.k,
              .c = out.q.from_row(begin),
              .m = block.size,
              .n = shape.head_size,
              .k = block.num_keys});
  }
}

/// The tensors of a call, and which head belongs to what.
struct Heads {
  at::Tensor q, k, v, output, log_sums;
  Shape shape;
  std::vector<std::vector<Part>> runs;

  [[nodiscard]] std::int64_t per_key_head() const { return q.size(1) / k.size(1); }

  [[nodiscard]] Head at(std::int64_t sample, std::int64_t head) const {
    const std::int64_t key_head = head / per_key_head();
    float* const sums = log_sums.mutable_data_ptr<float>();
    return {head_of(q, sample, head),
            head_of(k, sample, key_head),
            head_of(v, sample, key_head),
            head_of(output, sample, head),
            sums + (sample * q.size(1) + head) * shape.length};
  }
  [[nodiscard]] const std::vector<Part>& documents(std::int64_t sample) const {
    return runs[static_cast<std::size_t>(sample)];
  }
};

Heads heads_of(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal) {
  return {.q = with_dense_rows(q),
          .k = with_dense_rows(k),
          .v = with_dense_rows(v),
          .shape = {.length = q.size(2), .head_size = q.size(3), .causal = causal}};
}

void run_forward(const Heads& heads) {
  const std::int64_t num_heads = heads.q.size(1);
  in_parallel({heads.q.size(0) * num_heads}, [&](Part part) {
    std::vector<float> scores(largest_block(heads.shape));
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      const Head head = heads.at(i / num_heads, i % num_heads);
      for (const Part& run : heads.documents(i / num_heads)) {
        attend(head.from_row(run.begin), heads.shape.of(run), scores);
      }
    }
  });
}

struct Gradients {
  at::Tensor output, q, k, v;
};

/// Returns room for the gradients of q, k and v, side by side as the rows of one tensor: where one
/// product has made all of them, that is what its gradient needs.
Gradients room_beside(const at::Tensor& q, const at::Tensor& k, const at::Tensor& of_output) {
  const std::int64_t queries = q.size(1), keys = k.size(1);
  const at::Tensor all =
      at::empty({q.size(0), q.size(2), queries + 2 * keys, q.size(3)}, q.options());
  // Those of keys and values are added up.
  all.narrow(2, queries, 2 * keys).zero_();
  return {.output = with_dense_rows(of_output),
          .q = all.narrow(2, 0, queries).transpose(1, 2),
          .k = all.narrow(2, queries, keys).transpose(1, 2),
          .v = all.narrow(2, queries + keys, keys).transpose(1, 2)};
}

/// A part of the work is a head of the keys with all queries that share it, as their gradients add
/// up.
void run_backward(const Heads& heads, const Gradients& out) {
  const std::int64_t key_heads = heads.k.size(1), shared = heads.per_key_head();
  in_parallel({heads.q.size(0) * key_heads}, [&](Part part) {
    Scratch scratch(largest_block(heads.shape));
    for (std::int64_t i = part.begin * shared; i < part.end * shared; ++i) {
      const std::int64_t sample = i / heads.q.size(1), head = i % heads.q.size(1);
      const Head values = heads.at(sample, head);
      const HeadGradients gradients{head_of(out.output, sample, head),
                                    head_of(out.q, sample, head),
                                    head_of(out.k, sample, head / shared),
                                    head_of(out.v, sample, head / shared)};
      for (const Part& run : heads.documents(sample)) {
        attend_backward(values.from_row(run.begin),
                        gradients.from_row(run.begin),
                        heads.shape.of(run),
                        scratch);
      }
    }
  });
}

struct CpuAttention : torch::autograd::Function<CpuAttention> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& q,
                            const at::Tensor& k,
                            const at::Tensor& v,
                            const AttentionOptions& options) {
    const at::Tensor& positions = options.documents.positions;
    Heads heads = heads_of(q, k, v, options.causal);
    heads.runs = runs_of(positions, q.size(0), q.size(2));
    heads.output = rows_of_heads(q);
    heads.log_sums = at::empty({q.size(0), q.size(1), q.size(2)}, q.options());
    run_forward(heads);
    context->save_for_backward({q, k, v, heads.output, heads.log_sums, positions});
    context->saved_data["causal"] = options.causal;
    return heads.output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    if (at::GradMode::is_enabled()) {
      throw UsageError("attention has no second derivative on CPUs: do without create_graph");
    }
    const variable_list saved = context->get_saved_variables();
    Heads heads = heads_of(saved[0], saved[1], saved[2], context->saved_data["causal"].toBool());
    heads.output = saved[3];
    heads.log_sums = saved[4];
    heads.runs = runs_of(saved[5], saved[0].size(0), saved[0].size(2));
    const Gradients out = room_beside(saved[0], saved[1], gradients[0]);
    run_backward(heads, out);
    return {out.q, out.k, out.v, {}};
  }
};

}  // namespace

bool has_cpu_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  return has_gemm() && is_plain_fp32(q) && is_plain_fp32(k) && is_plain_fp32(v) && q.size(3) > 0;
}

at::Tensor cpu_attention(const at::Tensor& q,
                         const at::Tensor& k,
                         const at::Tensor& v,
                         const AttentionOptions& options) {
  return CpuAttention::apply(q, k, v, options);
}

}  // namespace sheaf::nn
