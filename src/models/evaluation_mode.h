#pragma once

#include <memory>
#include <vector>

#include "sheaf/models/model.h"

namespace sheaf::models {

/// Switches a model to evaluation; every module has its own mode back afterwards.
class EvaluationMode {
 public:
  explicit EvaluationMode(Model& model) : modules_(model.modules()) {
    for (const auto& module : modules_) training_.push_back(module->is_training());
    model.eval();
  }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;
  ~EvaluationMode() {
    // Outer modules come first, so what a module passes on to those inside it is put right by them.
    for (std::size_t i = 0; i < modules_.size(); ++i) modules_[i]->train(training_[i]);
  }

 private:
  std::vector<std::shared_ptr<torch::nn::Module>> modules_;
  std::vector<bool> training_;
};

}  // namespace sheaf::models
