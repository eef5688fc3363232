#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdlib>

#include "base/cores.h"
#include "comm/environment.h"
#include "sheaf/train/trainer.h"

namespace sheaf::train {
namespace {

// Ranks that share a machine share its cores; `sheaf launch` has said so already, mpirun has not.
void share_cores() {
  if (std::getenv("OMP_NUM_THREADS") != nullptr) return;
  const comm::Place place = comm::read_environment(comm::process_variable);
  at::set_num_threads(std::max(1, usable_cores() / std::max(1, place.local_size)));
}

}  // namespace

void set_up_process(const RunOptions& options) {
  share_cores();
  at::Context& context = at::globalContext();
  context.setFlushDenormal(true);
  context.setDeterministicAlgorithms(options.train.deterministic, /*warn_only=*/false);
  const bool coarse = options.precision.compute == Compute::tf32;
  context.setAllowTF32CuBLAS(coarse);
  context.setAllowTF32CuDNN(coarse);
}

}  // namespace sheaf::train
