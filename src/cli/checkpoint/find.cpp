#include "cli/checkpoint/find.h"

#include <filesystem>

#include "sheaf/base/error.h"
#include "sheaf/checkpoint/folder.h"
#include "sheaf/checkpoint/manifest.h"

namespace sheaf::cli {
namespace {

namespace fs = std::filesystem;

bool is_checkpoint(const fs::path& path) {
  std::error_code ignored;
  // A damaged one has its name, perhaps nothing else.
  return fs::exists(path / checkpoint::kManifestName, ignored) ||
         checkpoint::step_of_name(path.filename().string()).has_value();
}

}  // namespace

std::vector<std::string> find_checkpoints(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error) && !error) throw UsageError("there is no folder " + path);
  if (is_checkpoint(path)) return {path};
  std::vector<std::string> paths;
  for (const std::int64_t step : checkpoint::steps_in(path)) {
    paths.push_back(checkpoint::path_of_step(path, step));
  }
  if (paths.empty()) throw UsageError("there are no checkpoints in " + path);
  return paths;
}

std::string find_checkpoint(const std::string& path) { return find_checkpoints(path).back(); }

}  // namespace sheaf::cli
