#include "launch/gpus.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace sheaf::launch {
namespace {

namespace fs = std::filesystem;

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

template <class Condition>
int count_entries(const fs::path& folder, const Condition& condition) {
  std::error_code ignored;
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (condition(entry.path().filename().string())) ++count;
  }
  return count;
}

// A container has the files of the GPUs it was given. Where nothing has used the driver since the
// machine started there are none yet, but the driver lists what it has found.
int count_present(const fs::path& root) {
  constexpr std::string_view kPrefix = "nvidia";
  const int files = count_entries(root / "dev", [&](const std::string& name) {
    return name.starts_with(kPrefix) && is_number(std::string_view(name).substr(kPrefix.size()));
  });
  if (files > 0) return files;
  return count_entries(root / "proc/driver/nvidia/gpus", [](const std::string&) { return true; });
}

// Numbers must be those of GPUs; whether a name (GPU-..., MIG-...) is one only CUDA can tell.
bool is_gpu(const std::string& entry, int present) {
  if (!is_number(entry)) return entry.starts_with("GPU-") || entry.starts_with("MIG-");
  int index = 0;
  const auto result = std::from_chars(entry.data(), entry.data() + entry.size(), index);
  return result.ec == std::errc() && index < present;
}

}  // namespace

int count_gpus(const std::optional<std::string>& visible, const fs::path& root) {
  const int present = count_present(root);
  if (present == 0 || !visible.has_value()) return present;
  // As CUDA reads it: what comes after an entry that is no GPU does not count.
  std::istringstream entries(*visible);
  int count = 0;
  for (std::string entry; std::getline(entries, entry, ',') && is_gpu(entry, present);) ++count;
  return count;
}

int count_gpus() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return count_gpus(visible == nullptr ? std::nullopt : std::optional<std::string>(visible), "/");
}

}  // namespace sheaf::launch
