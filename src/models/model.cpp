#include "sheaf/models/model.h"

#include "models/classifiers.h"
#include "models/gpt2.h"
#include "models/llama.h"
#include "sheaf/nn/attention.h"

namespace sheaf::models {

std::shared_ptr<Model> build_shape(const Shape& shape) {
  switch (shape.family) {
    case Family::gpt2:
      return build_gpt2(shape);
    case Family::llama:
      return build_llama(shape);
    case Family::cnn:
      return build_cnn(shape);
    case Family::mlp:
      return build_mlp(shape);
  }
  return nullptr;
}

std::shared_ptr<Model> build(const ModelOptions& options) { return build_shape(resolve(options)); }

}  // namespace sheaf::models
