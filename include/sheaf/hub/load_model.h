#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "sheaf/hub/convert.h"
#include "sheaf/hub/model_folder.h"
#include "sheaf/models/model.h"

namespace sheaf::hub {

struct LoadOptions {
  at::Device device = at::kCPU;
  /// Type that the model computes with; `keep`: that of its files, the widest where they differ.
  WeightType dtype = WeightType::keep;
};

/// Builds the whole model of a folder on one device. The values go there straight from the files.
/// Throws UsageError for fp16 where values are beyond it, IoError.
[[nodiscard]] std::shared_ptr<models::Model> load_model(const ModelFolder& folder,
                                                        const LoadOptions& options = {});

/// Returns the model's folder that is meant by `path`: itself where it has a config.json, else the
/// one folder in it that has, such as what a run has exported into its log.dir. Throws UsageError
/// if there is none, or several.
[[nodiscard]] std::string find_model_folder(const std::string& path);

}  // namespace sheaf::hub
