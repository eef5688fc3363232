#include "study/parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "sheaf/base/error.h"
#include "study/files.h"

namespace sheaf::study {

namespace fs = std::filesystem;

Parts::Parts(fs::path folder, const std::string& key) : folder_(std::move(folder)) {
  make_folder(folder_);
  const fs::path marker = folder_ / "key.txt";
  if (!fs::exists(marker)) {
    replace_file(marker, key);
  } else if (read_file(marker) != key) {
    throw UsageError(
        fmt::format("{} has the parts of another study: give another --out, or remove that folder",
                    folder_.parent_path().string()));
  }
}

/// What failed is tried again next time; lack of memory is a result.
bool Parts::has_failed(const Json& made) {
  if (made.is_null()) return true;
  if (made.is_array()) return std::ranges::any_of(made, has_failed);
  if (!made.is_object()) return false;
  return made.contains("ending") ? made["ending"] == "failed" : made.contains("reason");
}

fs::path Parts::path_of(const std::string& name) const {
  return folder_ / (file_name(name) + ".json");
}

Json Parts::get(const std::string& name, const std::function<Json()>& make) const {
  const fs::path path = path_of(name);
  if (fs::exists(path)) {
    Json kept = Json::parse(read_file(path), nullptr, /*allow_exceptions=*/false);
    if (!kept.is_discarded()) return kept;
  }
  const Json made = make();
  if (has_failed(made)) return made;
  replace_file(path, made.dump(1, ' ', false, Json::error_handler_t::replace));
  return made;
}

}  // namespace sheaf::study
