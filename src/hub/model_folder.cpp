#include "sheaf/hub/model_folder.h"

#include <filesystem>

#include "checkpoint/json_object.h"
#include "hub/weight_names.h"
#include "sheaf/base/error.h"
#include "sheaf/models/model.h"
#include "sheaf/module/deferred.h"

namespace sheaf::hub {
namespace {

namespace fs = std::filesystem;

/// Does `work`, and puts the file it is about in front of what goes wrong.
template <class Work>
auto about(const std::string& file, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    std::rethrow_exception(error.with_prefix(file + ": "));
  }
}

std::string read_config(const std::string& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw UsageError("there is no folder " + folder);
  }
  return checkpoint::read_text(fs::path(folder) / "config.json");
}

}  // namespace

std::vector<checkpoint::TensorSpec> parameters_of(const models::Shape& shape) {
  const auto model = deferred([&] { return models::build_shape(shape); });
  std::vector<checkpoint::TensorSpec> parameters;
  for (const auto& item : model->named_parameters()) {
    parameters.push_back({item.key(), at::kFloat, item.value().sizes().vec()});
  }
  return parameters;
}

ModelFolder::ModelFolder(const std::string& path)
    : path_(path),
      config_text_(read_config(path)),
      config_(about(fs::path(path) / "config.json", [&] { return parse_config(config_text_); })),
      weights_(path),
      parameters_(parameters_of(config_.shape)),
      names_(about(path, [&] { return match_names(parameters_, weights_, config_.shape); })) {
  for (checkpoint::TensorSpec& parameter : parameters_) {
    parameter.dtype = weights_.find(names_.at(parameter.name))->dtype;
  }
}

void ModelFolder::read(const std::string& parameter,
                       std::int64_t begin,
                       const at::Tensor& target) const {
  weights_.read(names_.at(parameter), begin, target);
}

}  // namespace sheaf::hub
