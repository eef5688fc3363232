#include "gpu/programs.h"

#include <filesystem>

namespace sheaf::testing {

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

std::string sheaf_program() {
  return (std::filesystem::path(own_program()).parent_path() / "sheaf").string();
}

}  // namespace sheaf::testing
