#include "sheaf/nn/cached_attention.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "cpu_attention.h"
#include "kernels/cpu.h"
#include "kernels/gemm.h"
#include "sheaf/base/error.h"
#include "sheaf/nn/attention.h"

namespace sheaf::nn {
namespace {

// Elements of keys that are worth a thread of their own.
constexpr std::int64_t kElementsPerThread = 1 << 15;

void check_shapes(const at::Tensor& q,
                  const at::Tensor& keys,
                  const at::Tensor& values,
                  std::span<const std::int64_t> begins) {
  const bool fits = q.dim() == 4 && keys.dim() == 4 && keys.sizes() == values.sizes() &&
                    q.size(0) == keys.size(0) && q.size(3) == keys.size(3) && keys.size(1) > 0 &&
                    q.size(1) % keys.size(1) == 0 &&
                    std::ssize(begins) == static_cast<std::ptrdiff_t>(q.size(0));
  const auto has_room = [&](std::int64_t begin) {
    return begin >= 0 && begin + q.size(2) <= keys.size(2);
  };
  if (fits && std::all_of(begins.begin(), begins.end(), has_room)) return;
  throw UsageError(
      fmt::format("attention to kept tokens needs q [texts, heads, new tokens, size], keys and "
                  "values [texts, key heads, capacity, size] with room for them, and a beginning "
                  "for each text, got {}, {}, {} and {} beginnings",
                  fmt::streamed(q.sizes()),
                  fmt::streamed(keys.sizes()),
                  fmt::streamed(values.sizes()),
                  begins.size()));
}

bool are_equal(std::span<const std::int64_t> begins) {
  return std::adjacent_find(begins.begin(), begins.end(), std::not_equal_to<>()) == begins.end();
}

/// One new token for each text, in fp32 on a CPU: every text looks at its own tokens only, however
/// long the others are. The queries that share a head of keys are the rows of one product.
class OneToken {
 public:
  OneToken(const at::Tensor& q, const at::Tensor& keys, const at::Tensor& values)
      : q_(q.stride(3) == 1 ? q : q.contiguous()),
        keys_(keys),
        values_(values),
        output_(at::empty({q.size(0), 1, q.size(1), q.size(3)}, q.options())) {}

  at::Tensor run(std::span<const std::int64_t> begins) const {
    const std::int64_t key_heads = keys_.size(1);
    const std::int64_t longest = *std::max_element(begins.begin(), begins.end()) + 1;
    const std::int64_t elements = std::max<std::int64_t>(longest * q_.size(3), 1);
    in_parallel({q_.size(0) * key_heads, 1 + kElementsPerThread / elements}, [&](Part part) {
      std::vector<float> scores(static_cast<std::size_t>(shared() * longest));
      std::vector<float> log_sums(static_cast<std::size_t>(shared()));
      for (std::int64_t i = part.begin; i < part.end; ++i) {
        const std::int64_t text = i / key_heads;
        const std::int64_t seen = begins[static_cast<std::size_t>(text)] + 1;
        attend({.text = text, .key_head = i % key_heads, .seen = seen},
               scores.data(),
               log_sums.data());
      }
    });
    return output_.transpose(1, 2);
  }

 private:
  struct Place {
    std::int64_t text = 0;
    std::int64_t key_head = 0;
    std::int64_t seen = 0;
  };

  [[nodiscard]] std::int64_t shared() const { return q_.size(1) / keys_.size(1); }

  static Matrix rows_at(const at::Tensor& x, const Place& place) {
    auto* const data = const_cast<float*>(x.const_data_ptr<float>());
    return {data + place.text * x.stride(0) + place.key_head * x.stride(1), x.stride(2)};
  }

  void attend(const Place& place, float* scores, float* log_sums) const {
    const std::int64_t first = place.key_head * shared();
    auto* const q = const_cast<float*>(q_.const_data_ptr<float>());
    multiply({.a = {q + place.text * q_.stride(0) + first * q_.stride(1), q_.stride(1)},
              .b = rows_at(keys_, place),
              .c = {scores, place.seen},
              .m = shared(),
              .n = place.seen,
              .k = q_.size(3),
              .transpose_b = true});
    best_kernels().attend(
        {.scores = scores,
         .num_rows = shared(),
         .num_columns = place.seen,
         .causal = false,
         .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(q_.size(3)))),
         .log_sums = log_sums});
    float* const output = output_.mutable_data_ptr<float>();
    multiply(
        {.a = {scores, place.seen},
         .b = rows_at(values_, place),
         .c = {output + place.text * output_.stride(0) + first * output_.stride(2), q_.size(3)},
         .m = shared(),
         .n = q_.size(3),
         .k = place.seen});
  }

  at::Tensor q_, keys_, values_, output_;
};

/// What each new token sees, [texts, 1, new tokens, tokens]; nothing where all see everything.
std::optional<at::Tensor> mask_of(const at::Tensor& q, std::span<const std::int64_t> begins) {
  if (q.size(2) == 1 && are_equal(begins)) return std::nullopt;
  const std::int64_t tokens = *std::max_element(begins.begin(), begins.end()) + q.size(2);
  const at::TensorOptions numbers = q.options().dtype(at::kLong);
  const at::Tensor first =
      at::tensor(at::ArrayRef<std::int64_t>(begins.data(), begins.size()), at::kLong)
          .to(q.device())
          .view({-1, 1, 1, 1});
  const at::Tensor positions = first + at::arange(q.size(2), numbers).view({-1, 1});
  return at::arange(tokens, numbers) <= positions;
}

bool has_dense_rows(const at::Tensor& x) {
  return x.stride(3) == 1 && (x.size(2) <= 1 || x.stride(2) >= x.size(3));
}

}  // namespace

at::Tensor cached_attention(const at::Tensor& q,
                            const at::Tensor& keys,
                            const at::Tensor& values,
                            std::span<const std::int64_t> begins) {
  check_shapes(q, keys, values, begins);
  if (q.numel() == 0) return q;
  const std::int64_t longest = *std::max_element(begins.begin(), begins.end());
  // Texts that begin now: what is kept of them is what is new, so the faster kernels will do.
  if (longest == 0) {
    const std::int64_t length = q.size(2);
    return attention(q, keys.narrow(2, 0, length), values.narrow(2, 0, length), {});
  }
  if (q.size(2) == 1 && has_cpu_attention(q, keys, values) && has_dense_rows(keys) &&
      has_dense_rows(values)) {
    return OneToken(q, keys, values).run(begins);
  }
  const std::int64_t tokens = longest + q.size(2);
  return at::scaled_dot_product_attention(q,
                                          keys.narrow(2, 0, tokens),
                                          values.narrow(2, 0, tokens),
                                          mask_of(q, begins),
                                          /*dropout_p=*/0.0,
                                          /*is_causal=*/false,
                                          /*scale=*/{},
                                          /*enable_gqa=*/keys.size(1) != q.size(1));
}

}  // namespace sheaf::nn
