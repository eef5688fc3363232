#pragma once

#include <string>
#include <string_view>

namespace sheaf {

/// Waits until the disk knows the names in the folder that `path` lies in, as far as it can.
void keep_folder_of(const std::string& path);

/// Writes a small file and waits until the disk has it. Throws IoError.
void write_text(const std::string& path, std::string_view text);

}  // namespace sheaf
