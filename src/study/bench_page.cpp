#include "study/bench_page.h"

#include <fmt/format.h>

#include "base/quoting.h"
#include "sheaf/base/table.h"
#include "sheaf/base/units.h"
#include "train/figures.h"

namespace sheaf::study {
namespace {

constexpr const char* kNone = "-";

bool has(const Json& row, const char* key) { return row.contains(key) && !row[key].is_null(); }

std::string size_text(const Json& bytes) {
  return bytes.is_number() ? to_string(Bytes{static_cast<std::int64_t>(bytes.get<double>())})
                           : kNone;
}

std::string milliseconds(double seconds) { return fmt::format("{:.1f}", 1000 * seconds); }

std::string sync_text(const Json& row) {
  if (!has(row, "weights_in_sync")) return kNone;
  return row["weights_in_sync"].get<bool>() ? "yes" : "NO";
}

std::vector<std::string> cells(const Json& row) {
  const std::string name = escaped(row["strategy"].get<std::string>());
  if (!row.contains("items_per_second")) {
    std::vector<std::string> empty(12, kNone);
    empty.front() = name;
    empty[1] = escaped(row["ending"].get<std::string>());
    return empty;
  }
  const Json& memory = row["memory"];
  const bool alone = row["ranks"] == 1;
  return {
      name,
      train::rate_text(row["items_per_second"]),
      row.contains("speed_up") ? fmt::format("{:.2f}", row["speed_up"].get<double>()) : kNone,
      milliseconds(row["step_seconds"]["median"]),
      milliseconds(row["step_seconds"]["p95"]),
      size_text(memory["measured"]),
      size_text(memory["predicted"]),
      has(memory, "error") ? fmt::format("{:+.1f} %", 100 * memory["error"].get<double>()) : kNone,
      alone ? kNone : size_text(row["traffic"]["bytes"]),
      alone ? kNone : milliseconds(row["phases"].value("exposed_communication", 0.0)),
      row["last_loss"].is_number() ? fmt::format("{:.5f}", row["last_loss"].get<double>())
                                   : "not finite",
      sync_text(row)};
}

std::string sheaf_table(const Json& bench) {
  Table table({"strategy",
               bench["items"].get<std::string>() + "/s",
               "speed-up",
               "ms median",
               "p95",
               "peak",
               "predicted",
               "error",
               "traffic",
               "exposed ms",
               "last loss",
               "in sync"});
  table.add(cells(bench["baseline"]));
  for (const Json& row : bench["strategies"]) table.add(cells(row));
  return table.str();
}

std::string peer_table(const Json& bench) {
  if (bench["pytorch"].empty()) return "";
  Table table({"PyTorch",
               "tokens/s",
               "ms median",
               "p95",
               "peak RSS",
               "last loss",
               "in sync",
               "sheaf",
               "tokens/s",
               "ratio",
               "peak RSS"});
  for (const Json& peer : bench["pytorch"]) {
    const std::string name = escaped(peer["name"].get<std::string>());
    if (!peer.contains("items_per_second")) {
      std::vector<std::string> empty(11, kNone);
      empty.front() = name;
      empty[1] = "failed";
      table.add(empty);
      continue;
    }
    const Json& own = peer["sheaf"];
    table.add({name,
               train::rate_text(peer["items_per_second"]),
               milliseconds(peer["step_seconds"]["median"]),
               milliseconds(peer["step_seconds"]["p95"]),
               size_text(peer["memory"]["resident"]),
               fmt::format("{:.5f}", peer["last_loss"].get<double>()),
               sync_text(peer),
               own.is_null() ? kNone : escaped(own["strategy"].get<std::string>()),
               own.is_null() ? kNone : train::rate_text(own["items_per_second"]),
               own.is_null() ? kNone : fmt::format("{:.2f}", own["ratio"].get<double>()),
               own.is_null() ? kNone : size_text(own["resident"])});
  }
  return "\n" + table.str();
}

std::string problems_of(const Json& rows) {
  std::string text;
  for (const Json& row : rows) {
    const std::string name = row.contains("strategy") ? row["strategy"] : row["name"];
    for (const Json& problem : row["problems"]) {
      text += fmt::format("WRONG {}: {}\n", escaped(name), escaped(problem.get<std::string>()));
    }
  }
  return text;
}

std::string problems(const Json& bench) {
  return problems_of(Json::array({bench["baseline"]})) + problems_of(bench["strategies"]) +
         problems_of(bench["pytorch"]);
}

}  // namespace

std::string bench_page(const Json& bench) {
  const std::string wrong = problems(bench);
  return fmt::format(
      "{}, {} parameters, {} ranks on {}, {} steps each, peaks and traffic per rank\n\n{}{}\n{}",
      escaped(bench["model"].get<std::string>()),
      train::grouped(bench["parameters"].get<std::int64_t>()),
      bench["ranks"].get<int>(),
      escaped(bench["device"].get<std::string>()),
      bench["steps"].get<std::int64_t>(),
      sheaf_table(bench),
      peer_table(bench),
      wrong.empty() ? "all ranks hold the same weights, and all runs have the loss of one rank\n"
                    : wrong);
}

bool all_is_well(const Json& bench) { return problems(bench).empty(); }

}  // namespace sheaf::study
