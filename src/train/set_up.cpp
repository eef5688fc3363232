#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdlib>

#include "base/cores.h"
#include "comm/environment.h"
#include "nn/kernels/parallel.h"
#include "sheaf/train/trainer.h"

namespace sheaf::train {
namespace {

// Ranks that share a machine share its cores; `sheaf launch` has said so already, mpirun has not.
void share_cores() {
  if (std::getenv("OMP_NUM_THREADS") != nullptr) return;
  const comm::Place place = comm::read_environment(comm::process_variable);
  at::set_num_threads(std::max(1, usable_cores() / std::max(1, place.local_size)));
}

/// Sets the flag of this thread, which those take over that it starts, and of OpenMP's threads,
/// which may be there already. Threads of a group see to it themselves (Lane, compat::gloo).
void flush_denormals() {
  nn::on_each_thread([] { at::globalContext().setFlushDenormal(true); });
}

/// With several workspaces cuBLAS may take another one, and so another way to sum, from run to run.
/// It reads the variable when CUDA starts; who has set it knows why.
void fix_workspaces() { ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0); }

}  // namespace

void set_up_process(const RunOptions& options) {
  share_cores();
  flush_denormals();
  at::Context& context = at::globalContext();
  if (options.train.deterministic) fix_workspaces();
  context.setDeterministicAlgorithms(options.train.deterministic, /*warn_only=*/false);
  context.setDeterministicCuDNN(options.train.deterministic);
  const bool coarse = options.precision.compute == Compute::tf32;
  context.setAllowTF32CuBLAS(coarse);
  context.setAllowTF32CuDNN(coarse);
}

}  // namespace sheaf::train
