#pragma once

#include <memory>

#include "sheaf/models/model.h"
#include "sheaf/models/options.h"

namespace sheaf::models {

/// Builds three convolutions, each with ReLU and pooling, and two linear layers.
[[nodiscard]] std::shared_ptr<Model> build_cnn(const Shape& shape);
/// Builds linear layers with ReLU between them.
[[nodiscard]] std::shared_ptr<Model> build_mlp(const Shape& shape);

}  // namespace sheaf::models
