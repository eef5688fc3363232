#pragma once

#include <c10/util/intrusive_ptr.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../peers.h"
#include "board.h"

namespace c10d {
class Store;
}  // namespace c10d

namespace sheaf::comm {

/// Carries pages between the boards of several hosts, through the store: the first rank of each
/// host writes its host's pages there and reads those of the others.
class FarPages {
 public:
  struct Setting {
    std::shared_ptr<Board> board;
    /// Used by carriers only.
    c10::intrusive_ptr<c10d::Store> store;
    /// World ranks by host; in each the first one carries.
    std::vector<std::vector<int>> hosts;
    int rank = 0;
  };

  explicit FarPages(Setting setting);

  /// Tells whether this rank has something to carry.
  [[nodiscard]] bool is_carrier() const;
  /// Publishes the own host's pages and verdict, and takes over those of the others. Does nothing
  /// where the store is gone.
  void exchange();

 private:
  void publish(const std::vector<int>& ranks);
  void take_over(const std::vector<int>& ranks);
  void unpack(const std::vector<int>& ranks, const std::vector<std::uint64_t>& words);

  Setting setting_;
  bool is_lost_ = false;
  /// What each far rank's sign of life was when it last changed.
  std::map<int, std::int64_t> heard_;
};

/// Returns the ranks of each host, in the order of their first ranks.
[[nodiscard]] std::vector<std::vector<int>> ranks_by_host(const Peers& peers);

}  // namespace sheaf::comm
