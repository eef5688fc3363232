#pragma once

#include <fmt/format.h>

#include <string>

#include "base/checksum.h"

namespace sheaf::testing {

/// Returns a manifest as a later sheaf might write it: of version 2, and with the right checksum.
inline std::string future_manifest(const std::string& text) {
  std::string body = text.substr(0, text.find(",\n\"checksum\":"));
  const std::string version = "\"version\":1";
  body.replace(body.find(version), version.size(), "\"version\":2");
  return fmt::format(
      "{},\n\"checksum\":\"{:016x}\"}}\n", body, checksum_of(std::string_view(body)));
}

}  // namespace sheaf::testing
