#include "sheaf/layout/mesh_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "sheaf/base/error.h"

namespace sheaf::layout {
namespace {

std::string listed(const std::vector<Axis>& axes) {
  std::string text;
  for (const Axis& axis : axes) {
    if (!text.empty()) text += " x ";
    text += fmt::format("{} {}", axis.name, axis.size);
  }
  return text;
}

void check_names(const std::vector<Axis>& axes) {
  if (axes.empty()) throw UsageError("a mesh needs at least one axis");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].name.empty()) throw UsageError(fmt::format("axis {} of the mesh has no name", i));
    for (std::size_t j = 0; j < i; ++j) {
      if (axes[i].name == axes[j].name) {
        throw UsageError(fmt::format("the mesh names an axis twice: {}", axes[i].name));
      }
    }
  }
}

/// Returns the product of the sizes that are given, and fills in the one that is -1.
std::int64_t resolve(std::vector<Axis>& axes, int num_ranks) {
  std::int64_t product = 1;
  Axis* open = nullptr;
  for (Axis& axis : axes) {
    if (axis.size == -1 && open == nullptr) {
      open = &axis;
    } else if (axis.size < 1) {
      throw UsageError(
          fmt::format("axis '{}' must have at least 1 rank, or -1 once for what is left, got {}",
                      axis.name,
                      axis.size));
    } else {
      // Past this point it cannot divide any world size; clamping avoids overflow.
      product = std::min<std::int64_t>(product * axis.size, std::int64_t{1} << 31);
    }
  }
  if (open != nullptr && num_ranks % product == 0) {
    open->size = static_cast<int>(num_ranks / product);
    product = num_ranks;
  }
  return product;
}

}  // namespace

MeshShape::MeshShape(std::vector<Axis> axes, int num_ranks)
    : axes_(std::move(axes)), num_ranks_(num_ranks) {
  check_names(axes_);
  const std::int64_t product = resolve(axes_, num_ranks);
  if (product == num_ranks) return;
  const bool open =
      std::any_of(axes_.begin(), axes_.end(), [](const Axis& a) { return a.size == -1; });
  throw UsageError(fmt::format("the mesh {} needs {}{} ranks, the world has {}",
                               listed(axes_),
                               open ? "a multiple of " : "",
                               product,
                               num_ranks));
}

std::size_t MeshShape::index(std::string_view axis) const {
  const auto found =
      std::find_if(axes_.begin(), axes_.end(), [&](const Axis& a) { return a.name == axis; });
  if (found == axes_.end()) {
    throw UsageError(fmt::format("the mesh {} has no axis '{}'", str(), axis));
  }
  return static_cast<std::size_t>(found - axes_.begin());
}

std::vector<int> MeshShape::coordinates(int rank) const {
  std::vector<int> result(axes_.size());
  for (std::size_t i = axes_.size(); i-- > 0;) {
    result[i] = rank % axes_[i].size;
    rank /= axes_[i].size;
  }
  return result;
}

int MeshShape::rank_at(const std::vector<int>& coordinates) const {
  int rank = 0;
  for (std::size_t i = 0; i < axes_.size(); ++i) rank = rank * axes_[i].size + coordinates[i];
  return rank;
}

int MeshShape::color(int rank, const std::vector<std::string>& axes) const {
  std::vector<int> place = coordinates(rank);
  for (const std::string& axis : axes) place[index(axis)] = 0;
  return rank_at(place);
}

std::string MeshShape::str() const { return listed(axes_); }

}  // namespace sheaf::layout
