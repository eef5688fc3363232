#include "torchrun.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <vector>

namespace sheaf::testing {

std::optional<std::string> find_torchrun() {
  std::vector<std::string> folders{std::string(SHEAF_SOURCE_DIR) + "/.deps/venv/bin"};
  if (const char* active = std::getenv("VIRTUAL_ENV")) {
    folders.push_back(std::string(active) + "/bin");
  }
  const char* path = std::getenv("PATH");
  std::istringstream listed(path != nullptr ? path : "");
  for (std::string folder; std::getline(listed, folder, ':');) folders.push_back(folder);
  for (const auto& folder : folders) {
    const std::string program = folder + "/torchrun";
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  return std::nullopt;
}

}  // namespace sheaf::testing
