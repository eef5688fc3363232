#include "cli/doctor/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/quoting.h"
#include "sheaf/base/table.h"

namespace sheaf::cli::doctor {

std::string as_text(std::span<const Check> checks) {
  Table table({"check", "value", "status"});
  std::string advice;
  for (const Check& check : checks) {
    table.add({check.name, escaped(check.value), std::string(enum_name(check.status))});
    if (!check.advice.empty()) advice += fmt::format("{}: {}\n", check.name, escaped(check.advice));
  }
  return table.str() + (advice.empty() ? "" : "\n" + advice);
}

std::string as_json(std::span<const Check> checks) {
  auto list = nlohmann::ordered_json::array();
  for (const Check& check : checks) {
    list.push_back({{"name", check.name},
                    {"value", check.value},
                    {"status", enum_name(check.status)},
                    {"advice", check.advice}});
  }
  const nlohmann::ordered_json report = {{"healthy", is_healthy(checks)}, {"checks", list}};
  // A path or an error text need not be UTF-8.
  return report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace sheaf::cli::doctor
