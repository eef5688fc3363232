#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/quoting.h"
#include "cli/trace/pages.h"
#include "sheaf/base/table.h"

namespace sheaf::cli::trace {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the table, and how many rows found no place in it.
std::pair<std::string, std::size_t> operators_table(const std::vector<profile::Difference>& rows,
                                                    int top) {
  Table table({"operator", "change", "calls before", "after", "self us before", "after"});
  int shown = 0;
  std::size_t left = 0;
  for (const profile::Difference& row : rows) {
    if (row.change == profile::Change::same) continue;
    if (top > 0 && shown == top) {
      ++left;
      continue;
    }
    ++shown;
    table.add({escaped(row.name),
               std::string(name(row.change)),
               std::to_string(row.calls_before),
               std::to_string(row.calls_after),
               microseconds(row.before),
               microseconds(row.after)});
  }
  return {shown > 0 ? table.str() : "no operator is called more or less often\n", left};
}

std::string collectives_table(const std::vector<profile::Difference>& rows) {
  if (rows.empty()) return "no collectives\n";
  Table table({"collective",
               "change",
               "calls before",
               "after",
               "bytes before",
               "after",
               "us before",
               "after"});
  for (const profile::Difference& row : rows) {
    table.add({escaped(row.name),
               std::string(name(row.change)),
               std::to_string(row.calls_before),
               std::to_string(row.calls_after),
               std::to_string(row.bytes_before.count),
               std::to_string(row.bytes_after.count),
               microseconds(row.before),
               microseconds(row.after)});
  }
  return table.str();
}

Json rows_json(const std::vector<profile::Difference>& rows) {
  Json list = Json::array();
  for (const profile::Difference& row : rows) {
    list.push_back({{"name", row.name},
                    {"change", name(row.change)},
                    {"calls_before", row.calls_before},
                    {"calls_after", row.calls_after},
                    {"bytes_before", row.bytes_before.count},
                    {"bytes_after", row.bytes_after.count},
                    {"seconds_before", row.before.count()},
                    {"seconds_after", row.after.count()}});
  }
  return list;
}

}  // namespace

std::string difference_page(const profile::TraceDifference& difference, int top) {
  const auto [operators, left] = operators_table(difference.operators, top);
  std::string text = fmt::format("{} steps before, {} after\n\n{}\n{}",
                                 difference.steps_before,
                                 difference.steps_after,
                                 collectives_table(difference.collectives),
                                 operators);
  if (left > 0) text += fmt::format("and {} more: --top=0 lists all\n", left);
  return text;
}

std::string difference_json(const profile::TraceDifference& difference) {
  const Json page = {{"steps_before", difference.steps_before},
                     {"steps_after", difference.steps_after},
                     {"collectives", rows_json(difference.collectives)},
                     {"operators", rows_json(difference.operators)}};
  return page.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sheaf::cli::trace
