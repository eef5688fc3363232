// How fast and how large is training on several ranks that share one GPU, beside PyTorch over gloo?
//
//   build/bench/gpu_ranks [--ranks 4] [--repetitions 1] [--steps 5] [--only zero3] [--mps both]
//                         [--backend automatic] [--speed-only] [--json FILE]
//
// trains GPT-2 124M in fp32, 2 texts of 256 tokens per rank and step, without and with MPS, and
// prints a table. Exchanges are seen by leaving them out: a step with exchanges beside the
// computation takes `step`, one without exchanges `compute`, one that waits for each exchange where
// it starts `waited`. Exposed is what exchanges add to a step, step - compute; hidden is the part
// of them, waited - compute, that does not show: 1 - exposed / (waited - compute).
#include "gpu_table.h"
#include "program.h"
#include "shared_gpu.h"

int main(int argc, char** argv) {
  using namespace sheaf::bench;
  const CompareOptions defaults{.run = {.size = "124m",
                                        .device = sheaf::comm::DeviceKind::cuda,
                                        .steps = 5,
                                        .warm_up = 2,
                                        .batch = 2,
                                        .learning_rate = 1e-4},
                                .repetitions = 1};
  return run_program(
      argc, argv, {.compare = defaults, .ranks = 4}, [](const ProgramOptions& options) {
        GpuTable table(options);
        for (const bool mps : {false, true}) {
          if (options.mps == (mps ? "off" : "on")) continue;
          const SharedGpu gpu(mps);
          for (const Contest& contest : options.contests()) {
            table.add(measure(options, contest, mps));
          }
        }
        table.finish();
      });
}
