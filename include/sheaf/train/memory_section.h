#pragma once

#include "sheaf/base/options.h"

namespace sheaf::train {

struct MemorySection {
  /// Most that the tensors of one rank may take; 0: no limit.
  Bytes limit{0};
};

template <class Fields>
void describe(Fields& field, MemorySection& memory) {
  field("limit", memory.limit, "most that a rank's tensors may take; 0: no limit", at_least(0));
}

}  // namespace sheaf::train
