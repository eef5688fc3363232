#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "sheaf/data/dataset.h"

namespace sheaf::data {

/// Images of 28 by 28 bytes with labels 0 to 9. Inputs are uint8 [n, 28, 28], targets int64 [n].
class Digits final : public Dataset {
 public:
  static constexpr std::int64_t kSide = 28;
  static constexpr std::int64_t kClasses = 10;

  /// Throws UsageError, which names the file, for images of another size, a label that is none, and
  /// another number of labels than of images.
  Digits(const std::string& images_path, const std::string& labels_path);

  [[nodiscard]] std::int64_t size() const override {
    return static_cast<std::int64_t>(labels_.size());
  }
  [[nodiscard]] std::int64_t targets_per_sample() const override { return 1; }
  [[nodiscard]] Rows make_batch(std::int64_t count) const override;
  void fill(std::int64_t index, std::int64_t row, const Rows& rows) const override;

 private:
  std::vector<std::byte> images_;
  std::vector<std::byte> labels_;
};

/// Returns the file of a folder that holds `part` ("train" or "t10k") and `kind` ("images-idx3" or
/// "labels-idx1"): plain or .gz, and also spelled "train-images.idx3-ubyte". Throws UsageError.
[[nodiscard]] std::string find_digits_file(const std::string& folder,
                                           const std::string& part,
                                           const std::string& kind);

}  // namespace sheaf::data
