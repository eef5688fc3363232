#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sheaf/checkpoint/weights.h"
#include "sheaf/hub/config.h"
#include "sheaf/models/options.h"

namespace sheaf::hub {

/// Returns the parameters of a model of this shape, under the names that transformers saves them
/// by; the type is fp32.
[[nodiscard]] std::vector<checkpoint::TensorSpec> parameters_of(const models::Shape& shape);

/// A model's folder as Hugging Face's save_pretrained writes it: config.json and weights in
/// safetensors. Everything has been checked but for the values: the weights are those that the
/// config asks for. Values are read when they are asked for.
class ModelFolder {
 public:
  /// Throws UsageError that names the file for what is not there, damaged, or not to be had here;
  /// IoError.
  explicit ModelFolder(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] const std::string& config_text() const { return config_text_; }
  /// Returns the model's parameters, under sheaf's names and with the types that the files have.
  [[nodiscard]] const std::vector<checkpoint::TensorSpec>& parameters() const {
    return parameters_;
  }
  /// Returns the number of files that the weights are in.
  [[nodiscard]] std::size_t num_files() const { return weights_.num_files(); }

  /// Copies elements of a flattened parameter, from `begin` on, to `target`, which is flat and
  /// contiguous and may have another type and device.
  void read(const std::string& parameter, std::int64_t begin, const at::Tensor& target) const;

 private:
  std::string path_;
  std::string config_text_;
  Config config_;
  checkpoint::Weights weights_;
  std::vector<checkpoint::TensorSpec> parameters_;
  /// What the file calls a parameter.
  std::map<std::string, std::string> names_;
};

}  // namespace sheaf::hub
