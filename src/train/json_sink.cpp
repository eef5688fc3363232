#include <chrono>

#include "sheaf/train/sinks.h"
#include "train/append_file.h"
#include "train/json_records.h"
#include "train/utc_time.h"

namespace sheaf::train {
namespace {

class JsonSink final : public Sink {
 public:
  explicit JsonSink(const std::filesystem::path& folder) : file_(folder / "metrics.jsonl") {
    file_.drop_open_line();
  }

  void start(const RunInfo& info) override {
    info_ = info;
    file_.write(start_line(info, utc_text(std::chrono::system_clock::now())));
  }
  void step(const StepRecord& step, const Progress& progress) override {
    file_.write(step_line(info_, step, progress));
  }
  void evaluation(const EvaluationRecord& evaluation) override {
    file_.write(evaluation_line(info_, evaluation));
  }
  void sample(std::int64_t step, const std::string& text) override {
    file_.write(sample_line(step, text));
  }
  void end(const Summary& summary) override { file_.write(end_line(info_, summary)); }

 private:
  AppendFile file_;
  RunInfo info_;
};

}  // namespace

std::unique_ptr<Sink> json_sink(const std::filesystem::path& folder) {
  return std::make_unique<JsonSink>(folder);
}

}  // namespace sheaf::train
