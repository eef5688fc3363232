#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "sheaf/base/field.h"

namespace sheaf {

/// Reads a TOML file into the fields it names; the others keep their values. Throws UsageError that
/// starts with `file:line: ` (`file: ` if it cannot be read) and names the key, the value and what
/// is possible; fields before that line may have changed.
void read_toml_file(const std::filesystem::path& path, std::span<Field> fields);

/// The same for a document in memory; `origin` stands for the file in messages.
void read_toml(std::string_view document, std::string_view origin, std::span<Field> fields);

/// Returns all fields as a TOML document with sections, and the help as comments. Reads back to the
/// same values.
[[nodiscard]] std::string write_toml(std::span<const Field> fields);

}  // namespace sheaf
