#include <c10/util/Exception.h>

#include "captured.h"

namespace sheaf::comm {

bool is_captured(const c10::Stream&) { return false; }

std::shared_ptr<const Stamp> replayed_stamp(const c10::Stream& stream) {
  TORCH_INTERNAL_ASSERT(false, "nothing is captured on ", stream.device());
}

}  // namespace sheaf::comm
