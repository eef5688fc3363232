#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sheaf/base/options.h"
#include "sheaf/train/options.h"
#include "study/bench.h"
#include "study/json.h"

namespace sheaf::study {

/// What a study looks at, besides the run that it is of.
struct StudySection {
  std::string title;
  int ranks = 2;
  std::vector<std::string> strategies;
  std::int64_t steps = 20;
  std::int64_t sweep_to = 4096;
  std::int64_t sweep_steps = 6;
  std::int64_t profiled_steps = 3;
  bool gains = true;
  Against against = Against::nobody;
  std::string python = "python3";
  std::vector<std::int64_t> projection = {4, 8};
};

template <class Fields>
void describe(Fields& field, StudySection& study) {
  field("title", study.title, "heading of the report");
  field("ranks", study.ranks, "ranks of each strategy's run", at_least(2));
  field("strategies", study.strategies, "what to compare; none: all that the ranks can take");
  field("steps", study.steps, "steps of each strategy's run", at_least(3));
  field("sweep_to", study.sweep_to, "largest micro-batch of the sweep", between(1, 1 << 20));
  field("sweep_steps", study.sweep_steps, "steps of each run of the sweep", at_least(3));
  field("profiled_steps", study.profiled_steps, "steps that are traced", between(1, 100));
  field("gains", study.gains, "measure what each optimisation adds");
  field("against", study.against, "run these strategies of PyTorch's, too");
  field("python", study.python, "Python with torch, for against = \"pytorch\"");
  field("projection", study.projection, "numbers of devices to project to", between(2, 1 << 20));
}

/// Runs all parts that are not there yet and returns the results: docs/study.md has their members.
/// Throws UsageError if the folder has another study.
[[nodiscard]] Json run_study(const StudySection& study,
                             const train::RunOptions& run,
                             const std::filesystem::path& folder,
                             const Progress& progress);

}  // namespace sheaf::study
