#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sheaf/models/model.h"
#include "sheaf/module/deferred.h"
#include "sheaf/module/forward.h"

namespace sheaf::testing {

/// Returns tokens that depend on the seed alone.
inline at::Tensor random_texts(at::IntArrayRef shape, std::int64_t vocabulary, int seed = 5) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(seed));
  return at::randint(vocabulary, shape, generator, at::kLong);
}

/// Builds a model whose values depend on the seed and the options alone.
inline std::shared_ptr<models::Model> seeded_model(const models::ModelOptions& options,
                                                   std::uint64_t seed = 3) {
  auto model = deferred([&] { return models::build(options); });
  materialize(*model, seed);
  return model;
}

inline at::Tensor loss_of(models::Model& model,
                          const at::Tensor& texts,
                          const models::Pass& pass = {}) {
  return sheaf::forward(model, texts, texts.roll(-1, 1), pass);
}

inline at::Tensor logits_of(models::Model& model, const at::Tensor& inputs) {
  return sheaf::forward(model, inputs, at::Tensor(), models::Pass{.logits = models::Logits::all});
}

/// Returns the logits of what follows one text.
inline at::Tensor next_logits(models::Model& model, const std::vector<std::int64_t>& text) {
  const at::Tensor inputs = at::tensor(text, at::kLong).unsqueeze(0);
  return sheaf::forward(model, inputs, at::Tensor(), models::Pass{});
}

/// Makes initial values large enough that every part of the model counts in its output.
inline void enlarge(models::Model& model, double factor = 8) {
  const at::NoGradGuard no_grad;
  for (const at::Tensor& parameter : model.parameters()) {
    if (parameter.dim() > 1) parameter.mul_(factor);
  }
}

inline std::int64_t num_parameters(const models::Model& model) {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : model.parameters()) count += parameter.numel();
  return count;
}

}  // namespace sheaf::testing
