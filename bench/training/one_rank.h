#pragma once

#include "run_options.h"
#include "sheaf/comm/group.h"

namespace sheaf::bench {

/// Trains as one rank of `group`; rank 0 prints what pytorch_peer.py prints, as one line of JSON.
void train_one_rank(const RunOptions& options, const comm::Group& group);

}  // namespace sheaf::bench
