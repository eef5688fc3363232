#include "sheaf/comm/mesh.h"

#include <algorithm>
#include <map>

#include "sheaf/base/error.h"

namespace sheaf::comm {

struct Mesh::State {
  State(const Group& group, std::vector<layout::Axis> axes)
      : world(group),
        shape(std::move(axes), group.size()),
        place(shape.coordinates(group.rank())) {}

  /// Returns the group over `axes`, which are named in the mesh's order; makes it when it is new.
  const Group& over(const std::vector<std::string>& axes) {
    const auto found = groups.find(axes);
    if (found != groups.end()) return found->second;
    if (axes.size() == shape.axes().size()) return groups.emplace(axes, world).first->second;
    std::vector<int> colors;
    for (int rank = 0; rank < world.size(); ++rank) colors.push_back(shape.color(rank, axes));
    return groups.emplace(axes, world.split(colors)).first->second;
  }

  Group world;
  layout::MeshShape shape;
  std::vector<int> place;
  std::map<std::vector<std::string>, Group> groups;
};

Mesh::Mesh(const Group& world, std::vector<layout::Axis> axes)
    : state_(std::make_shared<State>(world, std::move(axes))) {
  for (const layout::Axis& axis : state_->shape.axes())
    static_cast<void>(state_->over({axis.name}));
}

const layout::MeshShape& Mesh::shape() const { return state_->shape; }

const Group& Mesh::world() const { return state_->world; }

const Group& Mesh::group(std::string_view axis) const {
  return state_->over({state_->shape.axes()[state_->shape.index(axis)].name});
}

int Mesh::coordinate(std::string_view axis) const {
  return state_->place[state_->shape.index(axis)];
}

int Mesh::size(std::string_view axis) const {
  return state_->shape.axes()[state_->shape.index(axis)].size;
}

Group Mesh::flatten(const std::vector<std::string>& axes) const {
  if (axes.empty()) throw UsageError("flatten needs at least one axis");
  std::vector<std::string> ordered = axes;
  const layout::MeshShape& shape = state_->shape;
  std::sort(ordered.begin(), ordered.end(), [&](const std::string& a, const std::string& b) {
    return shape.index(a) < shape.index(b);
  });
  ordered.erase(std::unique(ordered.begin(), ordered.end()), ordered.end());
  for (const std::string& axis : ordered) static_cast<void>(shape.index(axis));
  return state_->over(ordered);
}

}  // namespace sheaf::comm
