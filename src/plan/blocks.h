#pragma once

#include <memory>

#include "plan/pass.h"

namespace sheaf::plan {

/// One block of a model on its way through a step, as in src/models.
class Block {
 public:
  virtual ~Block() = default;
  /// Takes what comes in and returns what goes out; keeps what backward needs.
  [[nodiscard]] virtual Held forward(const Pass& pass, Held x) = 0;
  /// Takes the gradient of what went out and returns that of what came in.
  [[nodiscard]] virtual Held backward(const Pass& pass, Held gradient) = 0;
};

[[nodiscard]] std::unique_ptr<Block> make_gpt2_block(std::size_t first_parameter);
[[nodiscard]] std::unique_ptr<Block> make_llama_block(std::size_t first_parameter, bool rotates);

}  // namespace sheaf::plan
