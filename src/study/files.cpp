#include "study/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/durable.h"
#include "sheaf/base/error.h"

namespace sheaf::study {

namespace fs = std::filesystem;

std::string file_name(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c == ':' || c == '/' || c == ' '; }, '_');
  return name;
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw IoError(fmt::format("cannot make {}: {}", folder.string(), error.message()));
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw IoError(fmt::format("cannot read {}", path.string()));
  return text.str();
}

void replace_file(const fs::path& path, std::string_view text) {
  const fs::path unfinished = path.string() + ".part";
  write_text(unfinished.string(), text);
  std::error_code error;
  fs::rename(unfinished, path, error);
  if (error) throw IoError(fmt::format("cannot write {}: {}", path.string(), error.message()));
}

ScratchFolder::ScratchFolder() {
  std::string name = (fs::temp_directory_path() / "sheaf_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw IoError(fmt::format("cannot make a folder such as {}", name));
  }
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace sheaf::study
