#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "sheaf/module/claim.h"

namespace sheaf::sharding {

class Engine;

/// Wakes a unit when its module is run by sheaf::forward, and when backward comes back to it.
class Boundary final : public module::Claim {
 public:
  /// `unit` is empty for a root without parameters of its own.
  Boundary(std::weak_ptr<Engine> engine, std::optional<std::size_t> unit, bool is_root)
      : engine_(std::move(engine)), unit_(unit), is_root_(is_root) {}

  module::Tensors run(
      const module::Tensors& inputs,
      const std::function<module::Tensors(const module::Tensors&)>& forward) override;

 private:
  [[nodiscard]] module::Tensors cast(const Engine& engine, const module::Tensors& inputs) const;
  void hook_backward(const module::Tensors& inputs, const module::Tensors& outputs) const;

  std::weak_ptr<Engine> engine_;
  std::optional<std::size_t> unit_;
  bool is_root_;
};

}  // namespace sheaf::sharding
