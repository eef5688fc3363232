#pragma once

#include <filesystem>

#include "study/bench.h"
#include "study/json.h"

namespace sheaf::study {

/// Throws UsageError for runs that PyTorch's side cannot do in the same way on so many ranks.
void check_peer(const train::RunOptions& options, int ranks);

/// Runs PyTorch's own strategies with the weights, the batches and the optimizer of `bench`, and
/// returns a row for each; a row that has one beside it in `bench` has that under `sheaf`.
[[nodiscard]] Json run_peers(const BenchOptions& options,
                             const Json& bench,
                             const std::filesystem::path& folder,
                             const Progress& progress);

}  // namespace sheaf::study
