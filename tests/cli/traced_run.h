#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/run_command.h"
#include "support/temporary_folder.h"

namespace sheaf::cli {

using nlohmann::json;

/// Trains for some steps, of which three are recorded, unless `more` says otherwise.
inline sheaf::testing::CommandResult train(const std::string& folder,
                                           const std::vector<std::string>& more) {
  std::vector<std::string> words = {SHEAF_PROGRAM,
                                    "train",
                                    "--ranks=2",
                                    "--model.preset=gpt2-tiny",
                                    "--model.layers=2",
                                    "--model.width=32",
                                    "--model.heads=2",
                                    "--model.context=16",
                                    "--data.source=stories",
                                    "--data.size=4000",
                                    "--train.sample_tokens=0",
                                    "--train.evaluate=false",
                                    "--train.steps=6",
                                    "--profile.steps=3:5",
                                    "--log.dir=" + folder};
  for (const std::string& word : more) {
    const std::string name = word.substr(0, word.find('=') + 1);
    std::erase_if(words, [&](const std::string& each) { return each.starts_with(name); });
    words.push_back(word);
  }
  sheaf::testing::CommandResult result = sheaf::testing::run_command(words);
  EXPECT_EQ(result.exit_code, 0) << describe(result);
  return result;
}

/// Steps of a run's rank 0 as the accounting has them.
inline std::vector<json> accounted_steps(const sheaf::testing::TemporaryFolder& folder,
                                         int first,
                                         int last) {
  std::ifstream file(folder.path("metrics.jsonl"));
  std::vector<json> steps;
  for (std::string line; std::getline(file, line);) {
    const json record = json::parse(line);
    if (record["event"] != "step" || record["step"] < first || record["step"] > last) continue;
    steps.push_back(record);
  }
  return steps;
}

/// A part of a trace, in microseconds.
struct Range {
  double begin = 0;
  double end = 0;
};

inline Range range_of(const json& event) {
  const double begin = event.at("ts");
  return {begin, begin + event.at("dur").get<double>()};
}

/// Returns sheaf's ranges of one kind in events of a trace.
inline std::vector<Range> ranges_in(const json& events, const std::string& kind) {
  std::vector<Range> ranges;
  for (const json& event : events) {
    if (event.value("cat", "") != "sheaf" || event["args"].value("kind", "") != kind) continue;
    ranges.push_back(range_of(event));
  }
  return ranges;
}

/// Returns what Kineto has seen of backward passes: each function that autograd evaluates.
inline std::vector<Range> backward_functions(const json& events) {
  std::vector<Range> functions;
  for (const json& event : events) {
    if (event.value("cat", "") != "cpu_op") continue;
    const std::string name = event.at("name");
    if (name.starts_with("autograd::engine::evaluate_function")) {
      functions.push_back(range_of(event));
    }
  }
  return functions;
}

/// Returns how many seconds of a step at least one of the functions takes; they are sorted.
inline double seconds_in(const Range& step, const std::vector<Range>& functions) {
  double taken = 0, until = 0;
  for (const Range& function : functions) {
    if (function.begin < step.begin || function.begin >= step.end) continue;
    taken += std::max(0.0, function.end - std::max(function.begin, until));
    until = std::max(until, function.end);
  }
  return 1e-6 * taken;
}

/// Returns how many seconds Kineto has seen of backward passes in each step.
inline std::vector<double> backward_seconds(const json& events) {
  std::vector<Range> steps = ranges_in(events, "step");
  std::vector<Range> functions = backward_functions(events);
  std::ranges::sort(steps, {}, &Range::begin);
  std::ranges::sort(functions, {}, &Range::begin);
  std::vector<double> seconds;
  for (const Range& step : steps) seconds.push_back(seconds_in(step, functions));
  return seconds;
}

/// Tells whether a moment lies in one of the ranges.
inline bool is_in(double time, const std::vector<Range>& ranges) {
  return std::ranges::any_of(
      ranges, [&](const Range& range) { return range.begin <= time && time < range.end; });
}

/// Returns what `sheaf trace --json` says.
inline json trace_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {SHEAF_PROGRAM, "trace", "--json"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const sheaf::testing::CommandResult result = sheaf::testing::run_command(words);
  EXPECT_EQ(result.exit_code, 0) << describe(result);
  return result.exit_code == 0 ? json::parse(result.out) : json();
}

}  // namespace sheaf::cli
