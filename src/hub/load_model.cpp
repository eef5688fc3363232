#include "sheaf/hub/load_model.h"

#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "sheaf/base/error.h"
#include "sheaf/base/nearest.h"
#include "sheaf/module/deferred.h"

namespace sheaf::hub {
namespace {

namespace fs = std::filesystem;

at::ScalarType widest_of(const std::vector<checkpoint::TensorSpec>& parameters) {
  at::ScalarType widest = parameters.front().dtype;
  for (const checkpoint::TensorSpec& each : parameters) {
    widest = c10::promoteTypes(widest, each.dtype);
  }
  return widest;
}

/// Returns a parameter's values, where and as the model wants them.
at::Tensor values_of(const ModelFolder& folder,
                     const checkpoint::TensorSpec& parameter,
                     const at::TensorOptions& wanted) {
  at::Tensor values = at::empty(parameter.shape, wanted);
  folder.read(parameter.name, 0, values.view(-1));
  const bool narrows = values.scalar_type() == at::kHalf && parameter.dtype != at::kHalf;
  if (narrows && values.isinf().any().item<bool>()) {
    throw UsageError(
        fmt::format("{} has values that fp16 cannot hold: take bf16 or fp32", parameter.name));
  }
  return values;
}

bool has_config(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "config.json", ignored);
}

}  // namespace

std::shared_ptr<models::Model> load_model(const ModelFolder& folder, const LoadOptions& options) {
  const auto type = scalar_type_of(options.dtype).value_or(widest_of(folder.parameters()));
  const at::TensorOptions wanted = at::TensorOptions(options.device).dtype(type);
  auto model = deferred([&] { return models::build_shape(folder.config().shape); });
  const auto by_name = model->named_parameters();
  for (const checkpoint::TensorSpec& parameter : folder.parameters()) {
    at::Tensor target = by_name[parameter.name];
    target.set_requires_grad(false);
    target.set_data(values_of(folder, parameter, wanted));
  }
  return model;
}

std::string find_model_folder(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) throw UsageError("there is no folder " + path);
  if (has_config(path)) return path;
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (has_config(entry.path())) found.push_back(entry.path().string());
  }
  if (error) throw IoError(fmt::format("cannot read a folder ({}): {}", error.message(), path));
  std::sort(found.begin(), found.end());
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    throw UsageError("neither this folder nor one in it has a config.json, so there is no model: " +
                     path);
  }
  throw UsageError(
      fmt::format("there are {} models in {}: take {}", found.size(), path, join_or(found)));
}

}  // namespace sheaf::hub
