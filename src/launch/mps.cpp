#include "launch/mps.h"

#include <cstdlib>

#include "launch/environment.h"
#include "sheaf/base/error.h"
#include "sheaf/base/log.h"

namespace sheaf::launch {
namespace {

std::string counted(int count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

bool is_wanted(const MpsRequest& request) {
  if (request.mps != Mps::automatic) return request.mps == Mps::on;
  return request.gpus > 0 && request.ranks > request.gpus;
}

}  // namespace

std::unique_ptr<MpsDaemon> start_mps(const MpsRequest& request) {
  if (!is_wanted(request)) return nullptr;
  const std::string sharing =
      counted(request.ranks, "rank") + " on " + counted(request.gpus, "GPU");
  if (const char* given = std::getenv("CUDA_MPS_PIPE_DIRECTORY")) {
    log::info("launch", sharing + ": MPS is that of CUDA_MPS_PIPE_DIRECTORY, " + given);
    return nullptr;
  }
  try {
    auto daemon = std::make_unique<MpsDaemon>(MpsDaemonOptions{
        .program = find_program("nvidia-cuda-mps-control"), .run_dir = request.run_dir});
    log::info("launch", sharing + " run side by side under MPS, in " + daemon->folder());
    return daemon;
  } catch (const Error& error) {
    if (request.mps == Mps::on) {
      throw UsageError(std::string("--mps on: MPS is not to be had here (") + error.what() +
                       "); --mps off goes without it");
    }
    log::info("launch", sharing + " take turns: MPS is not to be had here (" + error.what() + ")");
    return nullptr;
  }
}

}  // namespace sheaf::launch
