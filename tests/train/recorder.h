#pragma once

#include <string>
#include <vector>

#include "sheaf/train/sink.h"

namespace sheaf::train {

/// Keeps all it is told.
class Recorder final : public Sink {
 public:
  void start(const RunInfo& given) override { info = given; }
  void step(const StepRecord& step, const Progress& /*progress*/) override {
    steps.push_back(step);
  }
  void evaluation(const EvaluationRecord& evaluation) override {
    evaluations.push_back(evaluation);
  }
  void sample(std::int64_t /*step*/, const std::string& text) override { samples.push_back(text); }
  void end(const Summary& summary) override { ended.push_back(summary); }

  RunInfo info;
  std::vector<StepRecord> steps;
  std::vector<EvaluationRecord> evaluations;
  std::vector<std::string> samples;
  std::vector<Summary> ended;
};

}  // namespace sheaf::train
