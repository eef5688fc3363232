#include "common_segment.h"

#include <ATen/core/Tensor.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <cstdint>
#include <cstring>

namespace sheaf::comm::shared {

std::shared_ptr<Segment> common_segment(Backend& backend,
                                        const Members& members,
                                        const SegmentRequest& request) try {
  const bool creates = request.creator == members.rank;
  std::shared_ptr<Segment> segment;
  const at::Tensor ticket = at::zeros({2}, at::kLong);
  if (creates) {
    segment = Segment::create(request.ranks, request.bytes);
    std::memcpy(ticket.data_ptr(), segment->ticket().data(), sizeof(Segment::Ticket));
  }
  const at::Tensor tickets = at::empty({members.size(), 2}, at::kLong);
  backend.all_gather(tickets, ticket);
  if (!creates) {
    Segment::Ticket given;
    std::memcpy(
        given.data(), tickets.const_data_ptr<std::int64_t>() + 2 * request.creator, sizeof(given));
    segment = Segment::open(request.ranks, request.bytes, given);
  }
  backend.barrier();
  if (creates) segment->close_door();
  return segment;
} catch (...) {
  backend.leave();
  throw;
}

}  // namespace sheaf::comm::shared
