#pragma once

#include <functional>

namespace sheaf::module {

/// Tells whether this thread is inside a backward pass.
[[nodiscard]] bool in_backward();

/// Calls `body` once when the backward pass that runs on this thread has ended: the outermost one,
/// where backward passes are nested (recomputation). To be called from a hook, inside a backward
/// pass. What `body` throws on the CPU reaches the caller of backward(). A backward pass that fails
/// drops it without a call.
///
/// A nested pass is known by the node around it on the thread that ends it, so it must not end on
/// another thread: its operators are on one device, and fewer than 60 passes are nested.
void at_end_of_backward(std::function<void()> body);

}  // namespace sheaf::module
