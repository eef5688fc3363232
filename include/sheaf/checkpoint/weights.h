#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sheaf/base/units.h"
#include "sheaf/checkpoint/safetensors.h"

namespace sheaf::checkpoint {

inline constexpr std::string_view kWeightsName = "model.safetensors";
inline constexpr std::string_view kIndexName = "model.safetensors.index.json";

/// Which file of a folder holds which tensor.
using WeightMap = std::map<std::string, std::string>;

/// Reads the text of an index. Throws UsageError that says what is wrong, without the file's name.
[[nodiscard]] WeightMap parse_index(std::string_view text);
[[nodiscard]] std::string format_index(const WeightMap& weights, Bytes total);

/// The tensors of one file of several.
struct WeightFile {
  std::string name;
  std::vector<TensorSpec> tensors;
};

/// Spreads tensors over files of at most `limit` bytes of values, in their order and named as
/// transformers names them; a larger tensor gets a file of its own. Names begin with `stem`.
[[nodiscard]] std::vector<WeightFile> split_weights(const std::vector<TensorSpec>& tensors,
                                                    Bytes limit,
                                                    std::string_view stem = "model");

/// The tensors of a folder: those of model.safetensors, or of several files that
/// model.safetensors.index.json lists.
class Weights {
 public:
  /// Throws UsageError that names the file for what is not there, damaged, or does not fit
  /// together; IoError.
  explicit Weights(const std::string& folder);

  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::size_t num_files() const { return files_.size(); }
  /// Returns what is there under a name; null where there is nothing.
  [[nodiscard]] const TensorSpec* find(const std::string& name) const;
  /// Copies elements of a tensor; see SafetensorsFile::read(). Throws UsageError if there is none.
  void read(const std::string& name, std::int64_t begin, const at::Tensor& target) const;

 private:
  struct Place {
    std::size_t file = 0;
    const TensorEntry* entry = nullptr;
  };

  void open_indexed(const std::string& folder);

  std::vector<SafetensorsFile> files_;
  std::map<std::string, Place> places_;
};

}  // namespace sheaf::checkpoint
