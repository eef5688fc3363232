#include "sheaf/train/baseline.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "sheaf/base/error.h"
#include "sheaf/base/table.h"

namespace sheaf::train {
namespace {

using Json = nlohmann::json;

/// Whatever stands in a file: what is not there, or is something else, is nothing.
const Json& member(const Json& object, const char* key) {
  static const Json kNothing;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? kNothing : *found;
}

std::optional<double> number_at(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

std::string text_at(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

int ranks_at(const Json& object) {
  const Json& value = member(object, "ranks");
  return value.is_number_unsigned() ? value.get<int>() : 1;
}

void read_line(const Json& line, Baseline& baseline, bool& ended) {
  const std::string event = text_at(line, "event");
  if (event == "start") {
    ended = false;
    baseline.ranks = ranks_at(line);
    baseline.strategy = text_at(line, "strategy");
  } else if (event == "end") {
    ended = member(line, "interrupted").is_null();
    baseline.elapsed = Seconds(number_at(line, "elapsed_seconds").value_or(0));
    baseline.items_per_second = number_at(line, "items_per_second").value_or(0);
    const Json& evaluation = member(line, "evaluation");
    baseline.evaluation_loss = number_at(evaluation, "loss");
    baseline.accuracy = number_at(evaluation, "accuracy");
  }
}

std::string percent(double part) { return fmt::format("{:.2f} %", 100 * part); }

class BaselineSink final : public Sink {
 public:
  BaselineSink(std::ostream& out, Baseline baseline) : out_(out), baseline_(std::move(baseline)) {}

  void start(const RunInfo& info) override { info_ = info; }
  void step(const StepRecord& /*step*/, const Progress& /*progress*/) override {}
  void evaluation(const EvaluationRecord& /*evaluation*/) override {}
  void sample(std::int64_t /*step*/, const std::string& /*text*/) override {}

  void end(const Summary& summary) override {
    Table table({"", "ranks", "strategy", "total time", info_.item_name + "/s", "result"});
    table.add(row(baseline_.folder, baseline_));
    const auto& evaluation = summary.evaluation;
    table.add(row("this run",
                  {.ranks = info_.ranks,
                   .strategy = info_.strategy,
                   .elapsed = summary.progress.elapsed,
                   .items_per_second = summary.progress.items_per_second,
                   .evaluation_loss = evaluation ? std::optional(evaluation->loss) : std::nullopt,
                   .accuracy = evaluation ? evaluation->accuracy : std::nullopt}));
    out_ << "\n" << table.str();
    const Seconds elapsed = summary.progress.elapsed;
    if (elapsed.count() > 0) {
      out_ << fmt::format("speed-up {:.2f}x\n", baseline_.elapsed / elapsed);
    }
    out_.flush();
  }

 private:
  static std::vector<std::string> row(const std::string& name, const Baseline& run) {
    std::string result = "-";
    if (run.accuracy) {
      result = percent(*run.accuracy) + " right";
    } else if (run.evaluation_loss) {
      result = fmt::format("loss {:.4f}", *run.evaluation_loss);
    }
    return {name,
            std::to_string(run.ranks),
            run.strategy,
            to_string(run.elapsed),
            fmt::format("{:.0f}", run.items_per_second),
            result};
  }

  std::ostream& out_;
  Baseline baseline_;
  RunInfo info_;
};

}  // namespace

Baseline read_baseline(const std::string& folder) {
  std::ifstream file(std::filesystem::path(folder) / "metrics.jsonl");
  if (!file) {
    throw UsageError(fmt::format("log.baseline: {} has no metrics.jsonl to read", folder));
  }
  Baseline baseline{.folder = folder};
  bool ended = false;
  for (std::string text; std::getline(file, text);) {
    const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (line.is_object()) read_line(line, baseline, ended);
  }
  if (!ended) {
    throw UsageError(
        fmt::format("log.baseline: the last run in {} did not come to its end", folder));
  }
  return baseline;
}

std::unique_ptr<Sink> baseline_sink(std::ostream& out, Baseline baseline) {
  return std::make_unique<BaselineSink>(out, std::move(baseline));
}

}  // namespace sheaf::train
