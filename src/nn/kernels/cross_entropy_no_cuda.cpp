#include "cross_entropy_cuda.h"

namespace sheaf::nn {

ChunkLoss cross_entropy_on_cuda(const LogitsChunk&, bool) { return {}; }

}  // namespace sheaf::nn
