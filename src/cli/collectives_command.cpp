#include "cli/collectives_command.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "cli/collectives/measure.h"
#include "cli/option_set.h"
#include "sheaf/base/table.h"
#include "sheaf/launch/start_ranks.h"

namespace sheaf::cli {
namespace {

struct Row {
  comm::Kind kind;
  Bytes size;
  Seconds ordinary;
  Seconds shared;
};

double gigabytes_per_second(Bytes size, Seconds time) {
  return static_cast<double>(size.count) / time.count() / 1e9;
}

std::vector<Row> measure_all(const comm::Group& group,
                             const CollectivesOptions& options,
                             at::Device device) {
  std::vector<Row> rows;
  for (const Bytes size : {kibibytes(1), options.size}) {
    for (const comm::Kind kind : measured_kinds()) {
      const MeasureOptions ordinary{.size = size, .repeats = options.repeats, .device = device};
      MeasureOptions shared = ordinary;
      shared.shared_tensors = true;
      rows.push_back({kind, size, measure(group, kind, ordinary), measure(group, kind, shared)});
    }
  }
  return rows;
}

std::string table_of(const std::vector<Row>& rows) {
  Table table({"collective", "size", "time", "GB/s", "shared tensors", "GB/s"});
  for (const Row& row : rows) {
    table.add({std::string(comm::name(row.kind)),
               to_string(row.size),
               to_string(row.ordinary),
               fmt::format("{:.2f}", gigabytes_per_second(row.size, row.ordinary)),
               to_string(row.shared),
               fmt::format("{:.2f}", gigabytes_per_second(row.size, row.shared))});
  }
  return table.str();
}

std::string json_of(const std::vector<Row>& rows, const comm::Group& group) {
  nlohmann::json list = nlohmann::json::array();
  for (const Row& row : rows) {
    list.push_back({{"collective", comm::name(row.kind)},
                    {"bytes", row.size.count},
                    {"seconds", row.ordinary.count()},
                    {"seconds_shared_tensors", row.shared.count()}});
  }
  const nlohmann::json page = {
      {"ranks", group.size()}, {"backend", group.backend()}, {"collectives", list}};
  return page.dump(2) + "\n";
}

}  // namespace

void CollectivesCommand::declare(OptionSet& options) {
  options.config_file();
  options.value("ranks", ranks_, "ranks to start on this machine", at_least(1));
  options.flag("json", json_, "print JSON instead of a table");
  options.add("comm", comm_);
  options.add("collectives", collectives_);
}

int CollectivesCommand::run(Console& console) {
  if (const auto exit_code = launch::start_ranks()) return *exit_code;
  const comm::Group group = comm::init(comm_);
  const at::Device device = comm_.device == comm::DeviceKind::cuda ? at::kCUDA : at::kCPU;
  const std::vector<Row> rows = measure_all(group, collectives_, device);
  if (group.rank() != 0) return 0;
  if (json_) {
    console.out << json_of(rows, group);
    return 0;
  }
  console.out << fmt::format("{} ranks over {}\n\n", group.size(), group.backend())
              << table_of(rows);
  return 0;
}

}  // namespace sheaf::cli
