#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace sheaf::drill {

/// Returns the first tensor file of checkpoint `a` that is not the same, byte for byte, in `b`;
/// empty if all are.
inline std::string first_difference(const std::filesystem::path& a,
                                    const std::filesystem::path& b) {
  const auto bytes = [](const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(a)) {
    if (entry.path().extension() != ".safetensors") continue;
    ++files;
    if (bytes(entry.path()) != bytes(b / entry.path().filename())) return entry.path().filename();
  }
  return files == 0 ? "no tensors in " + a.string() : "";
}

}  // namespace sheaf::drill
