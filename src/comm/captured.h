#pragma once

#include <c10/core/Stream.h>

#include <memory>

#include "sheaf/base/recorder.h"

namespace sheaf::comm {

/// Tells whether what is given to a stream now is recorded into a CUDA graph and not run.
[[nodiscard]] bool is_captured(const c10::Stream& stream);

/// Returns the moment in a captured stream where it is now. It comes anew with every replay of the
/// graph; before the first one it must not be asked.
[[nodiscard]] std::shared_ptr<const Stamp> replayed_stamp(const c10::Stream& stream);

}  // namespace sheaf::comm
