#include "sheaf/train/environment.h"

#include <ATen/Parallel.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/cores.h"
#include "comm/compat.h"
#include "sheaf/base/version.h"
#include "sheaf/train/memory_use.h"
#include "train/gpu.h"
#include "train/utc_time.h"

namespace sheaf::train {
namespace {

using Json = nlohmann::ordered_json;

Json versions() {
  const std::string cuda = cuda_version();
  return {{"sheaf", version()},
          {"libtorch", comm::compat::libtorch_version()},
          {"cuda", cuda.empty() ? Json() : Json(cuda)},
          {"compiler", SHEAF_COMPILER}};
}

Json machine() {
  utsname system{};
  ::uname(&system);
  return {{"host", system.nodename},
          {"kernel", std::string(system.sysname) + " " + system.release},
          {"architecture", system.machine},
          {"processor", device_name(at::kCPU)},
          {"usable_cores", usable_cores()},
          {"hardware_threads", ::sysconf(_SC_NPROCESSORS_ONLN)},
          {"memory_bytes", ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGE_SIZE)},
          {"gpus", gpu_names()}};
}

Json run(const RunInfo& info) {
  return {{"ranks", info.ranks},
          {"device", info.device},
          {"backend", info.backend},
          {"threads_per_rank", at::get_num_threads()},
          {"interop_threads_per_rank", at::get_num_interop_threads()}};
}

}  // namespace

std::string environment_json(const RunInfo& info, const std::vector<std::string>& command) {
  const Json all = {{"time", utc_text(std::chrono::system_clock::now())},
                    {"command", command},
                    {"versions", versions()},
                    {"machine", machine()},
                    {"run", run(info)}};
  // Arguments need not be UTF-8.
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sheaf::train
