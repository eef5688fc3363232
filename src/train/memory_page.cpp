#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "holder_groups.h"
#include "sheaf/base/table.h"
#include "sheaf/train/memory_report.h"
#include "train/figures.h"
#include "train/purposes_json.h"

namespace sheaf::train {
namespace {

using memory::Purpose;
using Json = nlohmann::ordered_json;

// Lines of the table over time.
constexpr std::size_t kLines = 16;

double part(Bytes bytes, Bytes of) {
  return of.count == 0 ? 0 : static_cast<double>(bytes.count) / static_cast<double>(of.count);
}

/// Returns how far the prediction is off, as a part of what was measured.
double error_of(const MemoryReport& report) {
  return part(report.predicted->peak, report.peak) - 1;
}

std::string error_text(double error) { return fmt::format("{:+.2f} %", 100 * error); }

bool has_purposes(const MemoryReport& report) { return !report.timeline.empty(); }

std::string steps_text(const MemoryReport& report) {
  if (report.steps == 1) return fmt::format("step {}", report.step);
  return fmt::format("steps {} to {}", report.step - report.steps + 1, report.step);
}

std::string headline(const MemoryReport& report) {
  return fmt::format("{}, {}, {} over {}, {}, {}: memory of rank 0 in {}\n",
                     report.info.model,
                     count_text(report.info.parameters, "parameter"),
                     report.info.strategy,
                     count_text(report.info.ranks, "rank"),
                     report.info.precision,
                     report.info.batch,
                     steps_text(report));
}

std::string purposes_text(const MemoryReport& report) {
  if (!has_purposes(report) && !report.predicted) return "";
  Table table({"", "between steps", "predicted", "at the peak", "predicted"});
  const auto cell = [](bool known, Bytes bytes) {
    return known ? to_string(bytes) : std::string("-");
  };
  const bool measured = has_purposes(report);
  const plan::Prediction predicted = report.predicted.value_or(plan::Prediction{});
  const bool planned = report.predicted.has_value();
  for (const Purpose purpose : memory::all_purposes()) {
    table.add({"  " + std::string(name(purpose)),
               cell(measured, report.resting[purpose]),
               cell(planned, predicted.resting[purpose]),
               cell(measured, report.at_peak.purposes[purpose]),
               cell(planned, predicted.at_peak[purpose])});
  }
  table.add({"  in all",
             cell(measured, report.resting.total()),
             cell(planned, predicted.resting.total()),
             to_string(report.peak),
             cell(planned, predicted.peak)});
  return "\nbytes by purpose\n" + table.str();
}

std::string peak_text(const MemoryReport& report) {
  std::string text = "\n";
  if (report.predicted) {
    text += fmt::format("peak {}, predicted {} in {}: error {}\n",
                        to_string(report.peak),
                        to_string(report.predicted->peak),
                        report.predicted->moment,
                        error_text(error_of(report)));
  } else {
    text += fmt::format("peak {}; there is no prediction for such a run\n", to_string(report.peak));
  }
  if (!has_purposes(report)) return text;
  const auto groups = grouped_holders(report.at_peak.holders);
  text += fmt::format("at the peak, {} of the way through {},",
                      percent_text(report.at_peak.time / report.time),
                      report.steps == 1 ? "the step" : "the steps");
  for (std::size_t i = 0; i < std::min<std::size_t>(groups.size(), 3); ++i) {
    text += fmt::format("{} {} were {}",
                        i == 0 ? "" : ",",
                        percent_text(part(groups[i].bytes, report.at_peak.purposes.total())),
                        groups[i].name);
  }
  return text + "\n";
}

/// From what everyone counts beforehand to what was there.
std::string difference_text(const MemoryReport& report) {
  Table table;
  if (has_purposes(report)) {
    const memory::ByPurpose& held = report.at_peak.purposes;
    const Bytes states{held[Purpose::parameters].count + held[Purpose::gradients].count +
                       held[Purpose::optimizer].count};
    const Bytes exchange{held[Purpose::gathered].count + held[Purpose::communication].count};
    table.add({"  parameters, gradients, optimizer", to_string(states)});
    table.add({"  + gathered and on their way", to_string(exchange)});
    table.add({"  + activations", to_string(held[Purpose::activations])});
    table.add({"  + temporary", to_string(held[Purpose::temporary])});
  }
  table.add({"  peak of tensors", to_string(report.peak)});
  if (report.allocator) {
    table.add({"  peak active", to_string(report.use.peak_active)});
    table.add({"  reserved by the allocator", to_string(report.use.reserved)});
    table.add({fmt::format("  of them unusable now, in {} segments", report.allocator->segments),
               to_string(report.allocator->unusable)});
    table.add(
        {"  fragmentation", percent_text(part(report.allocator->unusable, report.use.reserved))});
    table.add({"  times it was short of memory", std::to_string(report.allocator->retries)});
  }
  if (!report.allocator) {
    table.add({"  reserved for large tensors, in use or kept", to_string(report.use.reserved)});
  }
  const Bytes others{report.use.peak_resident.count - report.peak.count};
  table.add({"  peak of the whole process", to_string(report.use.peak_resident)});
  if (!report.allocator) table.add({"  so program, libraries and start-up", to_string(others)});
  return "\nfrom the estimate to what was there\n" + table.str();
}

std::string timeline_text(const MemoryReport& report) {
  if (!has_purposes(report)) return "";
  std::vector<std::string> header{"", "in all"};
  for (const Purpose purpose : memory::all_purposes()) header.emplace_back(name(purpose));
  Table table(header);
  const std::size_t per_line = std::max<std::size_t>(1, report.timeline.size() / kLines);
  for (std::size_t i = 0; i < report.timeline.size(); i += per_line) {
    const auto begin = report.timeline.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end = report.timeline.begin() +
                     static_cast<std::ptrdiff_t>(std::min(i + per_line, report.timeline.size()));
    const auto highest = std::max_element(begin, end, [](const auto& a, const auto& b) {
      return a.purposes.total() < b.purposes.total();
    });
    std::vector<std::string> row{"  " + percent_text(highest->time / report.time),
                                 to_string(highest->purposes.total())};
    for (const Purpose purpose : memory::all_purposes()) {
      row.push_back(to_string(highest->purposes[purpose]));
    }
    table.add(row);
  }
  return fmt::format("\nover {}, the highest moment of each part\n{}",
                     report.steps == 1 ? "the step" : "the steps",
                     table.str());
}

Json json_of(const plan::Prediction& prediction) {
  Json blocks = Json::array();
  for (const Bytes bytes : prediction.activations_by_block) blocks.push_back(bytes.count);
  return {{"resting", purposes_json(prediction.resting)},
          {"peak", prediction.peak.count},
          {"moment", prediction.moment},
          {"at_peak", purposes_json(prediction.at_peak)},
          {"activations_by_block", blocks}};
}

void add_allocator(Json& object, const AllocatorUse& use) {
  object["segments"] = use.segments;
  object["unusable"] = use.unusable.count;
  object["retries"] = use.retries;
  if (use.history.empty()) return;
  object["segment_list"] = Json::array();
  for (const Segment& segment : use.segment_list) {
    object["segment_list"].push_back(
        {{"size", segment.size.count}, {"in_use", segment.in_use.count}});
  }
  object["history"] = Json::array();
  for (const AllocatorMoment& moment : use.history) {
    object["history"].push_back({{"seconds", moment.time.count()},
                                 {"in_use", moment.in_use.count},
                                 {"reserved", moment.reserved.count}});
  }
}

Json measured_json(const MemoryReport& report) {
  Json object = {{"peak", report.peak.count},
                 {"reserved", report.use.reserved.count},
                 {"resident_peak", report.use.peak_resident.count}};
  if (report.allocator) {
    object["active_peak"] = report.use.peak_active.count;
    add_allocator(object, *report.allocator);
  }
  if (!has_purposes(report)) return object;
  object["resting"] = purposes_json(report.resting);
  object["at_peak"] = purposes_json(report.at_peak.purposes);
  object["peak_seconds"] = report.at_peak.time.count();
  object["holders_at_peak"] = Json::array();
  for (const memory::Holder& holder : report.at_peak.holders) {
    object["holders_at_peak"].push_back({{"purpose", name(holder.purpose)},
                                         {"owner", holder.owner},
                                         {"bytes", holder.bytes.count}});
  }
  object["timeline"] = Json::array();
  for (const memory::Moment& moment : report.timeline) {
    object["timeline"].push_back(
        {{"seconds", moment.time.count()}, {"bytes", purposes_json(moment.purposes)}});
  }
  return object;
}

}  // namespace

std::string memory_page(const MemoryReport& report) {
  return headline(report) + purposes_text(report) + peak_text(report) + difference_text(report) +
         timeline_text(report);
}

std::string memory_report_json(const MemoryReport& report) {
  Json page = {{"model", report.info.model},
               {"parameters", report.info.parameters},
               {"strategy", report.info.strategy},
               {"ranks", report.info.ranks},
               {"precision", report.info.precision},
               {"step", report.step},
               {"steps", report.steps},
               {"step_seconds", report.time.count() / static_cast<double>(report.steps)},
               {"measured", measured_json(report)},
               {"predicted", report.predicted ? json_of(*report.predicted) : Json()}};
  page["error"] = report.predicted ? Json(error_of(report)) : Json();
  return page.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sheaf::train
