#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sheaf/comm/group.h"
#include "sheaf/layout/mesh_shape.h"

namespace sheaf::comm {

/// Ranks arranged along named axes; each axis has a group of the ranks that differ only there.
/// A cheap value, like Group. The last axis varies fastest, so its ranks are neighbours.
class Mesh {
 public:
  /// Every rank of `world` must call it with the same axes; one size may be -1 and takes what is
  /// left. Throws UsageError unless the sizes multiply to the world's.
  Mesh(const Group& world, std::vector<layout::Axis> axes);

  [[nodiscard]] const layout::MeshShape& shape() const;
  [[nodiscard]] const Group& world() const;
  [[nodiscard]] const Group& group(std::string_view axis) const;
  /// Returns this rank's place along `axis`.
  [[nodiscard]] int coordinate(std::string_view axis) const;
  [[nodiscard]] int size(std::string_view axis) const;
  /// Returns the group over several axes together. Every rank must call it; the same axes give the
  /// same group again.
  [[nodiscard]] Group flatten(const std::vector<std::string>& axes) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace sheaf::comm
