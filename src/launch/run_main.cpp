#include "sheaf/launch/run_main.h"

#include <c10/util/Exception.h>

#include "base/amx.h"
#include "sheaf/base/error.h"
#include "sheaf/base/log.h"
#include "sheaf/comm/init.h"
#include "sheaf/launch/start_ranks.h"
#include "sheaf/memory/cpu_reuse.h"

namespace sheaf::launch {

int run_main(int argc, char** argv, const std::function<void(comm::Group)>& body) {
  avoid_broken_amx();
  try {
    if (const auto exit_code = start_ranks(argc, argv)) return *exit_code;
    memory::reuse_cpu_memory();
    body(comm::init());
    return 0;
  } catch (const Error& error) {
    log::error("main", error.what());
    return error.exit_code();
  } catch (const c10::Error& error) {
    log::error("main", error.what_without_backtrace());
  } catch (const std::exception& error) {
    log::error("main", error.what());
  }
  return 1;
}

}  // namespace sheaf::launch
