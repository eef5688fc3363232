#pragma once

#include <map>
#include <string>
#include <vector>

#include "sheaf/hub/folder_writer.h"
#include "sheaf/models/model.h"

namespace sheaf::testing {

/// A small model of each kind, with odd sizes: gpt2, llama, smollm3.
[[nodiscard]] models::Shape odd_shape(const std::string& kind);
[[nodiscard]] const std::vector<std::string>& kinds();

using Values = std::map<std::string, at::Tensor>;

/// Returns values for every parameter that depend on its name alone.
[[nodiscard]] Values odd_values(const models::Shape& shape);

struct SampleOptions {
  at::ScalarType dtype = at::kFloat;
  Bytes shard_size = hub::kShardSize;
};

/// Writes a model's folder with these values.
void write_sample(const std::string& folder,
                  const models::Shape& shape,
                  const SampleOptions& options = {});

/// Returns all parameters of a folder, in fp32.
[[nodiscard]] Values read_sample(const std::string& folder);

}  // namespace sheaf::testing
