#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>

#include "sheaf/train/sinks.h"
#include "train/append_file.h"
#include "train/json_records.h"
#include "train/printable.h"
#include "train/tensorboard_event.h"

namespace sheaf::train {
namespace {

double now() { return Seconds(std::chrono::system_clock::now().time_since_epoch()).count(); }

// TensorBoard knows its files by this name.
std::string file_name() {
  utsname system{};
  ::uname(&system);
  return fmt::format("events.out.tfevents.{}.{}.{}",
                     static_cast<std::int64_t>(now()),
                     system.nodename,
                     ::getpid());
}

double gibibytes_of(Bytes bytes) { return static_cast<double>(bytes.count) / 0x1p30; }

double milliseconds_of(Seconds time) { return 1000 * time.count(); }

std::vector<Scalar> scalars_of(const RunInfo& info, const StepRecord& step) {
  std::vector<Scalar> scalars{{"loss", step.loss}, {"learning_rate", step.learning_rate}};
  if (step.gradient_norm) scalars.push_back({"gradient_norm", *step.gradient_norm});
  scalars.push_back({info.item_name + "_per_second", items_per_second_of(step)});
  if (const auto mfu = mfu_of(info, step)) scalars.push_back({"mfu", *mfu});
  const std::vector<Scalar> rest{
      {"memory/allocated_gib", gibibytes_of(step.memory.allocated)},
      {"memory/peak_allocated_gib", gibibytes_of(step.memory.peak_allocated)},
      {"memory/resident_gib", gibibytes_of(step.memory.resident)},
      {"time/step_ms", milliseconds_of(step.time)}};
  scalars.insert(scalars.end(), rest.begin(), rest.end());
  const PhaseTimes& phases = step.phases;
  if (phases.total().count() <= 0) return scalars;
  const std::vector<Scalar> parts{
      {"time/data_wait_ms", milliseconds_of(phases.data_wait)},
      {"time/forward_ms", milliseconds_of(phases.forward)},
      {"time/backward_ms", milliseconds_of(phases.backward)},
      {"time/exposed_communication_ms", milliseconds_of(phases.exposed_communication)},
      {"time/hidden_communication_ms", milliseconds_of(phases.hidden_communication)},
      {"time/optimizer_ms", milliseconds_of(phases.optimizer)},
      {"time/idle_ms", milliseconds_of(phases.idle)}};
  scalars.insert(scalars.end(), parts.begin(), parts.end());
  return scalars;
}

class TensorboardSink final : public Sink {
 public:
  explicit TensorboardSink(const std::filesystem::path& folder) : file_(folder / file_name()) {
    file_.write(as_record(version_event(now())));
  }

  void start(const RunInfo& info) override { info_ = info; }
  void step(const StepRecord& step, const Progress&) override {
    write(step.step, scalars_of(info_, step));
  }
  void evaluation(const EvaluationRecord& evaluation) override {
    std::vector<Scalar> scalars{{"evaluation/loss", evaluation.loss}};
    if (evaluation.accuracy) scalars.push_back({"evaluation/accuracy", *evaluation.accuracy});
    write(evaluation.step, scalars);
  }
  void sample(std::int64_t step, const std::string& text) override {
    // Four spaces make Markdown leave the text as it is.
    const std::string shown = printable_lines(text, "    ");
    file_.write(as_record(text_event({now(), step}, "sample", shown)));
  }
  void end(const Summary&) override {}

 private:
  void write(std::int64_t step, const std::vector<Scalar>& scalars) {
    file_.write(as_record(scalars_event({now(), step}, scalars)));
  }

  AppendFile file_;
  RunInfo info_;
};

}  // namespace

std::unique_ptr<Sink> tensorboard_sink(const std::filesystem::path& folder) {
  return std::make_unique<TensorboardSink>(folder);
}

}  // namespace sheaf::train
