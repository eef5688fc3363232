#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/quoting.h"
#include "cli/trace/pages.h"
#include "sheaf/base/table.h"

namespace sheaf::cli::trace {
namespace {

using Json = nlohmann::ordered_json;

std::string milliseconds(Seconds time) { return fmt::format("{:.3f}", 1000 * time.count()); }

std::string percent(double part) { return fmt::format("{:.2f}", 100 * part); }

std::string times_table(const std::vector<profile::RankTrace>& ranks) {
  Table table({"rank",
               "steps",
               "time ms",
               "compute ms",
               "non-compute ms",
               "idle ms",
               "kernel ms",
               "compute %"});
  for (const profile::RankTrace& rank : ranks) {
    const profile::TraceTimes& times = rank.times;
    table.add({std::to_string(rank.owner.rank),
               std::to_string(times.steps),
               milliseconds(times.time),
               milliseconds(times.compute),
               milliseconds(times.non_compute),
               milliseconds(times.idle),
               milliseconds(times.kernel),
               percent(times.compute_share())});
  }
  return table.str();
}

std::string overlap_table(const std::vector<profile::RankTrace>& ranks) {
  Table table({"rank", "communication ms", "overlap %", "exposed ms", "data wait ms"});
  for (const profile::RankTrace& rank : ranks) {
    const auto overlap = rank.times.overlap();
    table.add({std::to_string(rank.owner.rank),
               milliseconds(rank.times.communication),
               overlap ? percent(*overlap) : "-",
               milliseconds(rank.times.exposed()),
               milliseconds(rank.times.data_wait)});
  }
  return table.str();
}

std::string collectives_table(const profile::RankTrace& rank) {
  if (rank.collectives.empty()) return "no collectives\n";
  Table table({"collective", "purpose", "calls", "bytes", "total ms", "average ms"});
  for (const profile::CollectiveUse& use : rank.collectives) {
    const auto& exchanged = use.exchanged;
    table.add({escaped(use.collective),
               use.purpose.empty() ? "-" : escaped(use.purpose),
               std::to_string(exchanged.calls),
               exchanged.bytes.count > 0 ? std::to_string(exchanged.bytes.count) : "-",
               milliseconds(exchanged.time),
               milliseconds(exchanged.time / static_cast<double>(exchanged.calls))});
  }
  return table.str();
}

std::string operators_table(const profile::RankTrace& rank, int top) {
  const std::size_t shown = top == 0
                                ? rank.operators.size()
                                : std::min(rank.operators.size(), static_cast<std::size_t>(top));
  Table table({"operator", "calls", "self us", "total us"});
  for (std::size_t i = 0; i < shown; ++i) {
    const profile::OperatorUse& use = rank.operators[i];
    table.add({escaped(use.name),
               std::to_string(use.calls),
               microseconds(use.self),
               microseconds(use.total)});
  }
  std::string text = table.str();
  if (shown < rank.operators.size()) {
    text += fmt::format("and {} more: --top=0 lists all\n", rank.operators.size() - shown);
  }
  return text;
}

std::string verdict_lines(const std::vector<profile::Verdict>& verdicts) {
  std::string text;
  for (const profile::Verdict& verdict : verdicts) {
    text += verdict.text + "\n";
    if (!verdict.advice.empty()) text += "      " + verdict.advice + "\n";
  }
  return text;
}

Json collectives_json(const std::vector<profile::CollectiveUse>& uses) {
  Json rows = Json::array();
  for (const profile::CollectiveUse& use : uses) {
    rows.push_back({{"collective", use.collective},
                    {"purpose", use.purpose},
                    {"calls", use.exchanged.calls},
                    {"bytes", use.exchanged.bytes.count},
                    {"seconds", use.exchanged.time.count()}});
  }
  return rows;
}

Json rank_json(const profile::RankTrace& rank) {
  const profile::TraceTimes& times = rank.times;
  const auto overlap = times.overlap();
  Json operators = Json::array();
  for (const profile::OperatorUse& use : rank.operators) {
    operators.push_back({{"name", use.name},
                         {"calls", use.calls},
                         {"self_seconds", use.self.count()},
                         {"total_seconds", use.total.count()}});
  }
  return {{"rank", rank.owner.rank},
          {"strategy", rank.owner.strategy},
          {"device", rank.on_gpu ? "gpu" : "cpu"},
          {"steps", times.steps},
          {"seconds", times.time.count()},
          {"compute", times.compute.count()},
          {"non_compute", times.non_compute.count()},
          {"idle", times.idle.count()},
          {"kernel", times.kernel.count()},
          {"optimizer", times.optimizer.count()},
          {"data_wait", times.data_wait.count()},
          {"communication", times.communication.count()},
          {"hidden_communication", times.hidden.count()},
          {"exposed_communication", times.exposed().count()},
          {"overlap", overlap ? Json(*overlap) : Json()},
          {"compute_share", times.compute_share()},
          {"collectives", collectives_json(rank.collectives)},
          {"traffic", collectives_json(rank.owner.traffic)},
          {"operators", operators}};
}

}  // namespace

std::string microseconds(Seconds time) { return fmt::format("{:.1f}", 1e6 * time.count()); }

std::string report_page(const std::vector<profile::RankTrace>& ranks,
                        const std::vector<profile::Verdict>& verdicts,
                        int top) {
  const profile::RankTrace& first = ranks.front();
  return fmt::format("{}\n{}\ncollectives of rank {}\n{}\noperators of rank {}\n{}\n{}",
                     times_table(ranks),
                     overlap_table(ranks),
                     first.owner.rank,
                     collectives_table(first),
                     first.owner.rank,
                     operators_table(first, top),
                     verdict_lines(verdicts));
}

std::string report_json(const std::vector<profile::RankTrace>& ranks,
                        const std::vector<profile::Verdict>& verdicts) {
  Json page = {{"ranks", Json::array()}, {"verdicts", Json::array()}};
  for (const profile::RankTrace& rank : ranks) page["ranks"].push_back(rank_json(rank));
  for (const profile::Verdict& verdict : verdicts) {
    page["verdicts"].push_back(
        {{"passed", verdict.passed}, {"text", verdict.text}, {"advice", verdict.advice}});
  }
  return page.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sheaf::cli::trace
