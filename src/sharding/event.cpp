#include "sheaf/sharding/event.h"

namespace sheaf::sharding {

std::string_view name(EventKind kind) {
  switch (kind) {
    case EventKind::gather_started:
      return "gather started";
    case EventKind::gathered:
      return "gathered";
    case EventKind::freed:
      return "freed";
    case EventKind::forward_began:
      return "forward began";
    case EventKind::forward_ended:
      return "forward ended";
    case EventKind::backward_began:
      return "backward began";
    case EventKind::reduce_started:
      return "reduce started";
    case EventKind::reduced:
      return "reduced";
    case EventKind::pass_ended:
      return "pass ended";
  }
  return "unknown";
}

}  // namespace sheaf::sharding
