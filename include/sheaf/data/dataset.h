#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sheaf/data/order.h"
#include "sheaf/data/tokenizer.h"

namespace sheaf::data {

/// A target that does not count: what follows the end of a document.
inline constexpr std::int64_t kIgnoredTarget = -100;

/// Tensors of some samples, a row for each.
struct Rows {
  at::Tensor inputs;
  at::Tensor targets;
  /// Of texts whose documents are kept apart: the place of each token in its document, int64 in the
  /// shape of the inputs. Undefined for all others.
  at::Tensor positions = {};
};

/// Samples of one fixed shape: texts (T input tokens and T targets, shifted by one) or images with
/// labels. Reads only; many threads may use it at once.
class Dataset {
 public:
  virtual ~Dataset() = default;

  /// Returns how many samples there are; at least 1.
  [[nodiscard]] virtual std::int64_t size() const = 0;
  /// Returns what samples are drawn from: the first part has the samples 0 and on, the next one
  /// those that follow. Their sizes add up to size().
  [[nodiscard]] virtual std::vector<DataPart> parts() const { return {{.size = size()}}; }
  /// Returns targets in one sample, also those that do not count: tokens of a text, 1 for an image.
  [[nodiscard]] virtual std::int64_t targets_per_sample() const = 0;
  /// Returns empty tensors for `count` samples, on the CPU.
  [[nodiscard]] virtual Rows make_batch(std::int64_t count) const = 0;
  /// Writes sample `index` into row `row` of tensors from make_batch().
  virtual void fill(std::int64_t index, std::int64_t row, const Rows& rows) const = 0;
};

/// What the data says of itself, for the start-up page and for the model that is to learn it.
struct DataInfo {
  std::string description;
  /// Distinct tokens of a text, classes of images.
  std::int64_t vocabulary = 0;
};

/// What a run trains on and is judged by. `evaluation` may be null.
struct Data {
  std::shared_ptr<const Dataset> training;
  std::shared_ptr<const Dataset> evaluation;
  DataInfo info;
  /// What the tokens mean, to print samples; null for images, random tokens, and token files of a
  /// tokenizer that is not known here.
  std::shared_ptr<const Tokenizer> tokenizer;
};

}  // namespace sheaf::data
