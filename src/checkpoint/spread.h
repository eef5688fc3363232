#pragma once

#include <cstddef>
#include <functional>

namespace sheaf::checkpoint {

/// Calls `work` with every number below `count`, each once and begun in rising order, by `threads`
/// threads of which the caller is one. After an error nothing new is begun, and the first is thrown
/// when all have ended.
void spread(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

}  // namespace sheaf::checkpoint
