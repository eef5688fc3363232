#include <c10/util/Exception.h>

#include "priority_stream.h"

namespace sheaf::comm {

c10::Stream priority_stream(c10::Device device, StreamPriority) {
  TORCH_INTERNAL_ASSERT(false, "there are no streams on ", device);
}

}  // namespace sheaf::comm
