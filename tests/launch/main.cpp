// The tests, and the roles that copies of this program play in them as ranks: --role=NAME.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "launch/endpoint.h"
#include "launch/store_host.h"
#include "launcher_process.h"
#include "sheaf/base/error.h"
#include "sheaf/launch/progress.h"

namespace sheaf::launch {
namespace {

int meet_in_store() {
  const std::string endpoint =
      std::string(std::getenv("MASTER_ADDR")) + ":" + std::getenv("SHEAF_STORE_PORT");
  auto where = parse_endpoint(endpoint);
  where.secret = comm::store::Secret::from_environment(comm::process_variable);
  auto store = StoreHost::connect(where, std::chrono::minutes(1));
  store.set_once(std::string("here/") + std::getenv("RANK"), "yes");
  for (const char* key : {"here/0", "here/1", "here/2"}) {
    if (!eventually([&] { return store.find(key).has_value(); })) return 1;
  }
  std::cout << "met the others" << std::endl;
  return 0;
}

int meet_without_secret() {
  ::unsetenv(comm::store::Secret::kVariable);
  try {
    return meet_in_store();
  } catch (const UsageError& error) {
    std::cerr << error.what() << std::endl;
    return error.exit_code();
  }
}

int say_rank() {
  std::cout << "rank " << std::getenv("RANK") << " of " << std::getenv("WORLD_SIZE") << std::endl;
  return 0;
}

int die_at_step_7() {
  Progress progress;
  for (int step = 0; step <= 7; ++step) progress.report(step);
  return std::raise(SIGKILL);
}

int play(std::string_view role) {
  if (role == "meet-in-store") return meet_in_store();
  if (role == "meet-without-secret") return meet_without_secret();
  if (role == "say-rank") return say_rank();
  if (role == "die-at-step-7") return die_at_step_7();
  return 21;
}

}  // namespace
}  // namespace sheaf::launch

int main(int argc, char** argv) {
  constexpr std::string_view kRole = "--role=";
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first.starts_with(kRole)) return sheaf::launch::play(first.substr(kRole.size()));
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
