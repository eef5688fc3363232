#pragma once

#include <string>

#include "sheaf/models/options.h"

namespace sheaf::cli {

/// A model to plan for.
struct PlannedModel {
  std::string name;
  models::Shape shape;
  /// What is not as the model says, for people; empty if all is.
  std::string note;
};

/// Takes a preset's name, a Hugging Face config.json, or a folder with one. A model that sheaf
/// cannot train is taken for a Llama of the same sizes. Throws UsageError for what is none of these
/// and for classifiers.
[[nodiscard]] PlannedModel read_model(const std::string& argument);

}  // namespace sheaf::cli
