#include "cli/checkpoint_diff_command.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/checkpoint/find.h"
#include "cli/option_set.h"
#include "sheaf/base/table.h"
#include "sheaf/checkpoint/compare.h"

namespace sheaf::cli {
namespace {

using checkpoint::Difference;
using nlohmann::json;

/// Members of the runs' records that differ; those of objects one by one.
json run_differences(const std::string& first, const std::string& second) {
  const json a = json::parse(first).flatten();
  const json b = json::parse(second).flatten();
  json differences = json::object();
  for (const auto& [path, value] : a.items()) {
    const json other = b.value(path, json());
    if (other != value) differences[path] = {value, other};
  }
  for (const auto& [path, value] : b.items()) {
    if (!a.contains(path)) differences[path] = {json(), value};
  }
  return differences;
}

std::string text_of(const std::vector<Difference>& tensors, const json& run) {
  std::string text;
  if (!run.empty()) {
    Table table({"run", "first", "second"});
    for (const auto& [path, values] : run.items()) {
      table.add({path, values[0].dump(), values[1].dump()});
    }
    text += table.str() + "\n";
  }
  if (tensors.empty()) return text + "all tensors are the same\n";
  Table table({"tensor", "differs in", "elements", "at most by"});
  for (const Difference& each : tensors) {
    const bool values = each.kind == "values";
    table.add({each.name,
               each.kind,
               values ? fmt::format("{} of {}", each.count, each.of) : "-",
               values ? fmt::format("{:.3g}", each.largest) : "-"});
  }
  return text + table.str();
}

json json_of(const std::vector<Difference>& tensors) {
  json list = json::array();
  for (const Difference& each : tensors) {
    list.push_back({{"name", each.name},
                    {"kind", each.kind},
                    {"count", each.count},
                    {"of", each.of},
                    {"largest", each.largest}});
  }
  return list;
}

}  // namespace

void CheckpointDiffCommand::declare(OptionSet& options) {
  options.positional("first", first_, "a checkpoint, or a run's folder, whose newest counts");
  options.positional("second", second_, "another one");
  options.flag("json", json_, "print JSON");
}

int CheckpointDiffCommand::run(Console& console) {
  const checkpoint::Reader first(find_checkpoint(first_));
  const checkpoint::Reader second(find_checkpoint(second_));
  const std::vector<Difference> tensors = checkpoint::compare(first, second);
  const json run = run_differences(first.manifest().run, second.manifest().run);
  if (json_) {
    console.out << json{{"run", run}, {"tensors", json_of(tensors)}}.dump(2) << "\n";
  } else {
    console.out << text_of(tensors, run);
  }
  return tensors.empty() ? 0 : 1;
}

}  // namespace sheaf::cli
