#pragma once

#include <c10/util/intrusive_ptr.h>

#include <memory>

#include "../peers.h"
#include "board.h"
#include "watch.h"

namespace c10d {
class Store;
}  // namespace c10d

namespace sheaf::comm {

/// What the groups of a rank have for watching each other.
struct Lookout {
  std::shared_ptr<Board> board;
  /// Null where nobody has to look.
  std::shared_ptr<Watch> watch;
  Check check = Check::off;
};

struct LookoutOptions {
  std::shared_ptr<const Peers> peers;
  c10::intrusive_ptr<c10d::Store> store;
  int rank = 0;
  WatchOptions watch;
};

/// Makes the board of this host, or opens the one that its first rank has made. Every rank calls
/// it, before ranks meet in the backend. Where memory cannot be shared a rank has a board of its
/// own, and is compared with nobody.
[[nodiscard]] Lookout join_lookout(const LookoutOptions& options);

/// The same for ranks that are threads, over one board.
[[nodiscard]] Lookout lookout_of_thread(std::shared_ptr<Board> board,
                                        const LookoutOptions& options);
[[nodiscard]] std::shared_ptr<Board> thread_board(int num_ranks);

}  // namespace sheaf::comm
