#pragma once

#include <array>
#include <string>

#include "sheaf/base/options.h"
#include "sheaf/base/units.h"
#include "sheaf/comm/group.h"
#include "sheaf/comm/watch.h"

namespace sheaf::comm {

/// What carries data between ranks. `automatic`: for CUDA nccl, or one_gpu when all ranks use the
/// same GPU; for the CPU, shared memory when all ranks are on one host, gloo otherwise.
enum class BackendKind { automatic, gloo, nccl, shared, one_gpu, fake };

enum class StoreKind { tcp, file };

enum class DeviceKind { cpu, cuda };

struct InitOptions {
  BackendKind backend = BackendKind::automatic;
  DeviceKind device = DeviceKind::cpu;
  /// How ranks find each other: through rank 0's (or the launcher's) address, or a file all can
  /// see.
  StoreKind store = StoreKind::tcp;
  /// The file of StoreKind::file; must be new for every run.
  std::string store_path;
  /// How long to wait for all ranks to arrive at the start.
  Seconds join_timeout{300};
  /// How long a call may wait for the other ranks.
  Seconds timeout{1800};
  /// How ranks watch each other; `sheaf train` sets it from its section `fault`.
  WatchOptions watch = {};
  /// For drills.
  Interference interference = nullptr;
};

/// Joins the other ranks of this run and returns the group of all. Reads the environment of
/// torchrun and `sheaf launch`, OpenMPI's mpirun or Slurm's srun; with none of them this is the
/// only rank. Throws UsageError for an environment that makes no sense, CommError that names the
/// ranks which did not arrive.
[[nodiscard]] Group init(const InitOptions& options = {});

/// Returns a group of `size` ranks of which only this one exists: calls return at once and move
/// nothing. For dry runs.
[[nodiscard]] Group fake_group(int size, int rank = 0);

constexpr auto enum_names(BackendKind) {
  return std::array{EnumName{"automatic", BackendKind::automatic},
                    EnumName{"gloo", BackendKind::gloo},
                    EnumName{"nccl", BackendKind::nccl},
                    EnumName{"shared", BackendKind::shared},
                    EnumName{"one_gpu", BackendKind::one_gpu},
                    EnumName{"fake", BackendKind::fake}};
}

constexpr auto enum_names(StoreKind) {
  return std::array{EnumName{"tcp", StoreKind::tcp}, EnumName{"file", StoreKind::file}};
}

constexpr auto enum_names(DeviceKind) {
  return std::array{EnumName{"cpu", DeviceKind::cpu}, EnumName{"cuda", DeviceKind::cuda}};
}

template <class Fields>
void describe(Fields& field, InitOptions& options) {
  field("backend", options.backend, "what carries data between ranks");
  field("device", options.device, "where the tensors are");
  field("store", options.store, "how ranks find each other: an address or a file that all can see");
  field("store_path", options.store_path, "the file of store = \"file\"; new for every run");
  field(
      "join_timeout", options.join_timeout, "how long to wait for all ranks to arrive", positive());
  field("timeout", options.timeout, "how long a call may wait for the other ranks", positive());
}

}  // namespace sheaf::comm
