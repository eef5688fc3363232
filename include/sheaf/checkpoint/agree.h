#pragma once

#include <exception>
#include <functional>

#include "sheaf/comm/group.h"

namespace sheaf::checkpoint {

/// Does `work` and returns what it threw; null if nothing.
[[nodiscard]] std::exception_ptr attempt(const std::function<void()>& work);

/// Ends a piece of work that every rank did for itself: where any rank failed, all throw that
/// rank's error, with its number in front, so that none goes on alone. All ranks must call it.
void agree(const comm::Group& group, const std::exception_ptr& error);

/// Does both: `work` for itself, the end together.
void together(const comm::Group& group, const std::function<void()>& work);

}  // namespace sheaf::checkpoint
