#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::layout {

struct Axis {
  std::string name;
  int size = 1;
};

/// How ranks are numbered along named axes: row-major, the last axis varies fastest.
/// Pure arithmetic: makes no groups.
class MeshShape {
 public:
  /// One size may be -1: it takes what `num_ranks` leaves. Throws UsageError for no axes, a
  /// repeated or empty name, a size below one, or sizes that do not multiply to `num_ranks`.
  MeshShape(std::vector<Axis> axes, int num_ranks);

  [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }
  [[nodiscard]] int num_ranks() const { return num_ranks_; }
  /// Throws UsageError that lists the axes there are.
  [[nodiscard]] std::size_t index(std::string_view axis) const;
  /// Returns the place of `rank` along every axis.
  [[nodiscard]] std::vector<int> coordinates(int rank) const;
  [[nodiscard]] int rank_at(const std::vector<int>& coordinates) const;
  /// Returns a number that `rank` shares with exactly the ranks that differ from it only along
  /// `axes`: the color to split by.
  [[nodiscard]] int color(int rank, const std::vector<std::string>& axes) const;
  /// Writes "replicate 2 x shard 4".
  [[nodiscard]] std::string str() const;

 private:
  std::vector<Axis> axes_;
  int num_ranks_ = 1;
};

}  // namespace sheaf::layout
