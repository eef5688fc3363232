#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "sheaf/models/options.h"

namespace sheaf::models {

/// What a language model keeps of the tokens that it has read, so that a text goes on without
/// reading its beginning again: keys and values of every layer. Goes with Pass::cache.
///
/// Texts may have different lengths. Their memory is taken in the first pass, all at once, in the
/// type and on the device that the model computes with.
class KeyValueCache {
 public:
  /// For as many texts, of at most `capacity` tokens each. Throws UsageError for a capacity beyond
  /// the context of the model's shape.
  KeyValueCache(const Shape& shape, std::int64_t texts, std::int64_t capacity);

  [[nodiscard]] std::int64_t capacity() const { return capacity_; }
  /// Returns how many tokens of each text are there.
  [[nodiscard]] const std::vector<std::int64_t>& lengths() const { return lengths_; }
  /// Forgets all tokens.
  void clear();
  /// Drops a text; the last one takes its place.
  void drop(std::size_t text);

  // The following is for models.

  /// Throws UsageError unless as many new tokens of as many texts fit.
  void check_room(std::int64_t texts, std::int64_t new_tokens) const;
  /// Returns the positions of the new tokens, [texts, new tokens].
  [[nodiscard]] at::Tensor positions(std::int64_t new_tokens, at::Device device) const;
  /// Takes keys and values of the new tokens, [texts, key heads, new tokens, size], and returns the
  /// attention of their queries to all tokens up to each of them.
  [[nodiscard]] at::Tensor attend(std::int64_t layer,
                                  const at::Tensor& q,
                                  const at::Tensor& k,
                                  const at::Tensor& v);
  /// Says how many of each text's new tokens are to stay; the pass is over.
  void advance(const std::vector<std::int64_t>& counts);

 private:
  struct Layer {
    at::Tensor keys;
    at::Tensor values;
  };

  void write(const at::Tensor& kept, const at::Tensor& added) const;

  std::int64_t capacity_;
  std::vector<std::int64_t> lengths_;
  std::vector<Layer> layers_;
};

}  // namespace sheaf::models
