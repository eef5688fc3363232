#pragma once

#include <c10/util/intrusive_ptr.h>

#include "environment.h"
#include "sheaf/comm/init.h"

namespace c10d {
class Store;
}  // namespace c10d

namespace sheaf::comm {

/// Forms the group of all ranks: everybody says where it is, then the backend is chosen and made.
/// `store` is seen by all of them and may have been used before.
[[nodiscard]] Group form_world(const Place& place,
                               c10::intrusive_ptr<c10d::Store> store,
                               const InitOptions& options);

/// Returns the GPU of a rank; more ranks than GPUs take turns. Throws UsageError where there is
/// none.
[[nodiscard]] at::Device gpu_of(const Place& place);

}  // namespace sheaf::comm
