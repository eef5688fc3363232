#include "contestants.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "light.h"
#include "median.h"
#include "sheaf/base/error.h"
#include "step_watch.h"
#include "study/child.h"
#include "study/run_files.h"
#include "temporary_folder.h"

namespace sheaf::bench {
namespace {

using nlohmann::json;

// So many that the first, which the recorder's start may lengthen, is not the one in the middle.
constexpr std::int64_t kRecordedSteps = 3;

// Where steps become a graph, three before it are plain and the next two are recorded for it.
constexpr std::int64_t kStepsBeforeReplays = 5;

// Enough to see why a program failed.
constexpr std::size_t kLastWords = 1500;

std::string end_of(const std::string& text) {
  return text.size() <= kLastWords ? text : text.substr(text.size() - kLastWords);
}

std::string run(const std::vector<std::string>& command) {
  const study::ChildResult result = study::run_child(command);
  if (result.exit_code != 0) {
    throw Error(fmt::format("{} ended with {}: {}",
                            fmt::join(command, " "),
                            result.exit_code,
                            end_of(result.err + result.out)));
  }
  return result.out;
}

/// Runs a Python file with a question as its argument and returns its answer, the last line.
json ask(const Contest& contest,
         const std::string& script,
         const json& question,
         const std::vector<std::string>& further = {}) {
  const TemporaryFolder folder;
  std::ofstream(folder / "question.json") << question.dump();
  std::vector<std::string> command = {
      contest.python, contest.scripts + "/" + script, folder / "question.json"};
  command.insert(command.end(), further.begin(), further.end());
  const std::string out = run(command);
  json answer = json::parse(study::last_line(out), nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object()) {
    throw Error(fmt::format("{} gave no figures: {}", script, end_of(out)));
  }
  return answer;
}

double seconds_since_1970() {
  return Seconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

json shape_json(const Contest& contest, PyTorchStyle style) {
  const models::Shape shape = shape_of(contest.row);
  const bool is_padded = style != PyTorchStyle::plain;
  return {{"family", shape.family == models::Family::gpt2 ? "gpt2" : "llama"},
          {"layers", shape.layers},
          {"width", shape.width},
          {"heads", shape.heads},
          {"kv_heads", shape.kv_heads},
          {"head_size", shape.head_size},
          {"hidden", shape.hidden},
          {"vocabulary", is_padded ? contest.work.linears.back().outputs : shape.vocabulary},
          {"length", contest.row.length},
          {"epsilon", shape.epsilon},
          {"rope_theta", shape.rope_theta},
          {"no_rope_interval", shape.no_rope_interval}};
}

/// ATen takes flash attention by itself where it has it: on a GPU, but for fp32 numbers.
std::string attention_of(const Contest& contest, PyTorchStyle style) {
  if (style != PyTorchStyle::plain) return contest.attention;
  const Arithmetic arithmetic = contest.row.arithmetic;
  const bool is_bf16 = arithmetic == Arithmetic::bf16_master || arithmetic == Arithmetic::bf16;
  return contest.row.device == "cuda" && is_bf16 ? "flash" : "default";
}

std::vector<std::string> training_command(const Contest& contest,
                                          std::int64_t steps,
                                          const std::string& folder) {
  std::vector<std::string> command = {contest.program, "train"};
  const auto options = sheaf_options(contest.row, contest.changes);
  command.insert(command.end(), options.begin(), options.end());
  command.push_back(fmt::format("--train.steps={}", steps));
  command.push_back(fmt::format("--log.warm_up={}", contest.warm_up));
  command.push_back("--log.dir=" + folder);
  return command;
}

/// A loss that is no number has no place in JSON.
double number_or_zero(const json& value) { return value.is_number() ? value.get<double>() : 0; }

double peak_of(const study::RunFiles& files) {
  const study::Json& memory = files.end->at("memory").at(0);
  return memory.at("peak_allocated").get<double>();
}

}  // namespace

void check_sheaf(const Contest& contest) {
  const TemporaryFolder folder;
  std::vector<std::string> command = training_command(contest, contest.steps, folder / "log");
  command.push_back("--print-config");
  run(command);
}

json task_of(const Contest& contest, PyTorchStyle style) {
  return {{"shape", shape_json(contest, style)},
          {"attention_sizes", questions_of(contest.work, contest.row).at("attention")},
          {"attention", attention_of(contest, style)},
          {"tokens", shape_of(contest.row).vocabulary},
          {"batch", contest.row.batch},
          {"arithmetic", name_of(contest.row.arithmetic)},
          {"device", contest.row.device},
          {"steps", contest.steps},
          {"warm_up", contest.warm_up},
          {"started", seconds_since_1970()}};
}

json measure_light(const Contest& contest) {
  return ask(contest, "light.py", questions_of(contest.work, contest.row));
}

Figures run_pytorch(const Contest& contest, PyTorchStyle style) {
  std::vector<std::string> further;
  if (style == PyTorchStyle::compiled) further.emplace_back("--compile");
  const json answer = ask(contest, "pytorch_peer.py", task_of(contest, style), further);
  return {.step_ms = answer.at("step_ms"),
          .wall_ms = answer.at("wall_ms"),
          .peak_bytes = answer.at("peak_bytes"),
          .first_step_s = answer.at("first_step_s"),
          .loss = number_or_zero(answer.at("loss")),
          .details = answer};
}

Figures run_sheaf(const Contest& contest) {
  const TemporaryFolder folder;
  const std::string log = folder / "log";
  const auto command = training_command(contest, contest.warm_up + contest.steps, log);
  StepWatch watch(log + "/metrics.jsonl");
  run(command);
  const StepArrivals arrivals = watch.stop();
  const study::RunFiles files = study::read_run(log);
  if (!files.end) throw Error("sheaf's run has no end in metrics.jsonl");
  const std::vector<double> seconds = study::counted_seconds(files);
  json steps_ms = json::array();
  for (const double each : seconds) steps_ms.push_back(each * 1e3);
  return {.step_ms = median(seconds) * 1e3,
          .wall_ms = arrivals.mean_ms(contest.warm_up),
          .peak_bytes = peak_of(files),
          .first_step_s = arrivals.first_s(),
          .loss = number_or_zero(files.end->at("last_loss")),
          .details = {{"command", command}, {"steps_ms", steps_ms}, {"start", files.start}}};
}

void record_sheaf(const Contest& contest, const std::string& folder) {
  const std::int64_t before = std::max(contest.warm_up, kStepsBeforeReplays);
  const std::int64_t last = before + kRecordedSteps;
  std::vector<std::string> command = training_command(contest, last, folder);
  command.push_back(fmt::format("--profile.steps={}:{}", before + 1, last));
  command.emplace_back("--profile.replays=true");
  run(command);
}

}  // namespace sheaf::bench
