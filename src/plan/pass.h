#pragma once

#include <cstdint>

#include "plan/engine_walk.h"
#include "plan/walk.h"
#include "sheaf/plan/architecture.h"
#include "sheaf/plan/setting.h"

namespace sheaf::plan {

/// What one forward and backward pass of one rank computes with, and where it is written down.
struct Pass {
  Walk& walk;
  EngineWalk& engine;
  const Architecture& model;
  const Setting& setting;
  /// Whether gradients are exchanged at its end.
  bool exchanged = true;

  [[nodiscard]] std::int64_t sequence() const {
    return setting.sequence > 0 ? setting.sequence : model.context;
  }
  [[nodiscard]] std::int64_t rows() const { return setting.micro_batch * sequence(); }
  [[nodiscard]] std::int64_t element() const { return bytes_of(setting.compute); }
  [[nodiscard]] bool is_narrow() const { return setting.compute != Number::fp32; }
  /// sheaf's own CPU kernels are for fp32.
  [[nodiscard]] bool has_cpu_kernels() const {
    return setting.device == Device::cpu && !is_narrow();
  }

  /// Bytes of a number for each row and column, in the type of the computation, and in fp32.
  [[nodiscard]] std::int64_t matrix(std::int64_t columns) const {
    return rows() * columns * element();
  }
  [[nodiscard]] std::int64_t wide_matrix(std::int64_t columns) const {
    return rows() * columns * 4;
  }
  [[nodiscard]] std::int64_t width() const { return matrix(model.width); }
  [[nodiscard]] std::int64_t queries() const { return matrix(model.heads * model.head_size); }
  [[nodiscard]] std::int64_t keys() const { return matrix(model.kv_heads * model.head_size); }

  /// Takes bytes for what forward makes, and for what backward makes.
  [[nodiscard]] Held made(std::int64_t bytes) const {
    return walk.take(Purpose::activations, bytes);
  }
  [[nodiscard]] Held temporary(std::int64_t bytes) const {
    return walk.take(Purpose::temporary, bytes);
  }
  void gradient(std::size_t parameter) const { engine.gradient(parameter, exchanged); }
};

}  // namespace sheaf::plan
