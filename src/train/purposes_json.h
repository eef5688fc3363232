#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sheaf/base/memory_purpose.h"

namespace sheaf::train {

/// Returns an object of bytes by the names of purposes.
[[nodiscard]] inline nlohmann::ordered_json purposes_json(const memory::ByPurpose& purposes) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const memory::Purpose purpose : memory::all_purposes()) {
    object[std::string(name(purpose))] = purposes[purpose].count;
  }
  return object;
}

}  // namespace sheaf::train
