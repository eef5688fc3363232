#pragma once

#include <cstddef>
#include <memory>

#include "../backend.h"
#include "segment.h"

namespace sheaf::comm::shared {

struct SegmentRequest {
  Ranks ranks;
  std::size_t bytes;
  /// The rank, in the group, that makes it.
  int creator;
};

/// Returns a segment that rank `creator` of `backend`'s group makes and the others open. Every rank
/// calls it, and several may create one for different ranks at the same time. Throws IoError, and
/// then the group has ended.
[[nodiscard]] std::shared_ptr<Segment> common_segment(Backend& backend,
                                                      const Members& members,
                                                      const SegmentRequest& request);

}  // namespace sheaf::comm::shared
