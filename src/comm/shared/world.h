#pragma once

#include <c10/util/intrusive_ptr.h>

#include <memory>
#include <variant>

#include "../backend.h"
#include "../peers.h"
#include "arena.h"
#include "sheaf/base/units.h"

namespace c10d {
class Store;
}  // namespace c10d

namespace sheaf::comm::shared {

struct JoinOptions {
  Members members;
  std::shared_ptr<const Peers> peers;
  c10::intrusive_ptr<c10d::Store> store;
  Seconds timeout{1800};
};

/// Forms the group of all ranks that are processes of this host. Every rank calls it. Where one of
/// them cannot reach the memory of rank 0, all ranks get the same sentence instead of a backend.
std::variant<std::unique_ptr<Backend>, std::string> join_processes(const JoinOptions& options);

/// Forms one rank of a group of threads of this process, over a segment that all of them use.
std::unique_ptr<Backend> join_threads(std::shared_ptr<Segment> segment,
                                      const JoinOptions& options,
                                      const ArenaOptions& arena = {});
/// Makes that segment.
std::shared_ptr<Segment> thread_segment(int num_ranks, const ArenaOptions& arena = {});

}  // namespace sheaf::comm::shared
