#include "hub/sample_models.h"

#include <ATen/ATen.h>

#include <stdexcept>

#include "sheaf/hub/model_folder.h"

namespace sheaf::testing {

using checkpoint::TensorSpec;
using models::Family;

const std::vector<std::string>& kinds() {
  static const std::vector<std::string> names{"gpt2", "llama", "smollm3"};
  return names;
}

models::Shape odd_shape(const std::string& kind) {
  models::Shape shape{.family = Family::llama,
                      .layers = 3,
                      .width = 48,
                      .heads = 3,
                      .kv_heads = 1,
                      .head_size = 10,
                      .hidden = 77,
                      .vocabulary = 101,
                      .context = 19,
                      .epsilon = 1e-6,
                      .rope_theta = 12345,
                      .tied_embeddings = false};
  if (kind == "llama") return shape;
  if (kind == "smollm3") {
    shape.no_rope_interval = 2;
    shape.tied_embeddings = true;
    return shape;
  }
  if (kind != "gpt2") throw std::invalid_argument(kind);
  return {.family = Family::gpt2,
          .layers = 2,
          .width = 48,
          .heads = 3,
          .kv_heads = 3,
          .head_size = 16,
          .hidden = 50,
          .vocabulary = 101,
          .context = 19,
          .epsilon = 1e-4};
}

Values odd_values(const models::Shape& shape) {
  Values values;
  for (const TensorSpec& parameter : hub::parameters_of(shape)) {
    at::Generator generator =
        at::detail::createCPUGenerator(std::hash<std::string>()(parameter.name) % 1'000'003);
    values[parameter.name] = at::randn(parameter.shape, generator) * 0.3;
  }
  return values;
}

void write_sample(const std::string& folder,
                  const models::Shape& shape,
                  const SampleOptions& options) {
  auto parameters = hub::parameters_of(shape);
  for (TensorSpec& parameter : parameters) parameter.dtype = options.dtype;
  hub::FolderWriter writer(
      folder,
      {.config = hub::format_config(shape, options.dtype), .parameters = parameters},
      {.shard_size = options.shard_size, .overwrite = true});
  for (const auto& [name, value] : odd_values(shape)) writer.write(name, 0, value);
  writer.finish();
}

Values read_sample(const std::string& path) {
  const hub::ModelFolder folder(path);
  Values values;
  for (const TensorSpec& parameter : folder.parameters()) {
    const at::Tensor value = at::empty(parameter.shape);
    folder.read(parameter.name, 0, value.view(-1));
    values[parameter.name] = value;
  }
  return values;
}

}  // namespace sheaf::testing
