#include "sheaf/models/key_value_cache.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "sheaf/base/error.h"
#include "sheaf/nn/cached_attention.h"

namespace sheaf::models {

KeyValueCache::KeyValueCache(const Shape& shape, std::int64_t texts, std::int64_t capacity)
    : capacity_(capacity),
      lengths_(static_cast<std::size_t>(std::max<std::int64_t>(texts, 0))),
      layers_(static_cast<std::size_t>(shape.layers)) {
  if (capacity >= 1 && capacity <= shape.context && texts >= 0) return;
  throw UsageError(
      fmt::format("the tokens that a model keeps must be between 1 and its context of {}, got {}",
                  shape.context,
                  capacity));
}

void KeyValueCache::clear() { std::fill(lengths_.begin(), lengths_.end(), 0); }

void KeyValueCache::drop(std::size_t text) {
  const std::size_t last = lengths_.size() - 1;
  if (text != last) {
    const auto from = static_cast<std::int64_t>(last);
    const auto to = static_cast<std::int64_t>(text);
    for (const Layer& layer : layers_) {
      for (const at::Tensor& kept : {layer.keys, layer.values}) {
        if (!kept.defined()) continue;
        kept.select(0, to)
            .narrow(1, 0, lengths_[last])
            .copy_(kept.select(0, from).narrow(1, 0, lengths_[last]));
      }
    }
    lengths_[text] = lengths_[last];
  }
  lengths_.pop_back();
}

void KeyValueCache::check_room(std::int64_t texts, std::int64_t new_tokens) const {
  if (texts != static_cast<std::int64_t>(lengths_.size())) {
    throw UsageError(
        fmt::format("the tokens of {} texts are kept, so a pass must have as many, "
                    "got {}",
                    lengths_.size(),
                    texts));
  }
  for (const std::int64_t length : lengths_) {
    if (length + new_tokens <= capacity_) continue;
    throw UsageError(fmt::format(
        "{} tokens of a text can be kept and {} are, got {} more", capacity_, length, new_tokens));
  }
}

at::Tensor KeyValueCache::positions(std::int64_t new_tokens, at::Device device) const {
  const at::Tensor first = at::tensor(lengths_, at::kLong).unsqueeze(1);
  return (first + at::arange(new_tokens, at::kLong)).to(device);
}

void KeyValueCache::write(const at::Tensor& kept, const at::Tensor& added) const {
  const std::int64_t texts = added.size(0), new_tokens = added.size(2);
  const bool are_equal =
      std::adjacent_find(lengths_.begin(), lengths_.end(), std::not_equal_to<>()) == lengths_.end();
  if (are_equal) {
    kept.narrow(0, 0, texts).narrow(2, lengths_.front(), new_tokens).copy_(added);
    return;
  }
  const at::Tensor rows = at::arange(texts, added.options().dtype(at::kLong)).unsqueeze(1);
  kept.transpose(1, 2).index_put_({rows, positions(new_tokens, added.device())},
                                  added.transpose(1, 2));
}

at::Tensor KeyValueCache::attend(std::int64_t layer,
                                 const at::Tensor& q,
                                 const at::Tensor& k,
                                 const at::Tensor& v) {
  Layer& kept = layers_.at(static_cast<std::size_t>(layer));
  const std::int64_t texts = k.size(0);
  if (texts == 0) return q;
  if (!kept.keys.defined()) {
    // Zeros: what a mask hides counts nothing, unless it happens to be no number.
    kept.keys = at::zeros({texts, k.size(1), capacity_, k.size(3)}, k.options());
    kept.values = at::zeros_like(kept.keys);
  }
  write(kept.keys, k);
  write(kept.values, v);
  return nn::cached_attention(
      q, kept.keys.narrow(0, 0, texts), kept.values.narrow(0, 0, texts), lengths_);
}

void KeyValueCache::advance(const std::vector<std::int64_t>& counts) {
  for (std::size_t i = 0; i < lengths_.size(); ++i) lengths_[i] += counts.at(i);
}

}  // namespace sheaf::models
