#include "sides.h"

#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>

#include "sheaf/base/error.h"

namespace sheaf::bench {
namespace {

template <class Enum>
std::string_view name_of(Enum value) {
  for (const auto& [name, each] : enum_names(Enum{})) {
    if (each == value) return name;
  }
  return "?";
}

Figures figures_of(const std::string& command) {
  const std::string output = output_of(command);
  const std::size_t begin = output.find("{\"");
  if (begin == std::string::npos)
    throw Error(fmt::format("no figures from {}:\n{}", command, output));
  const auto line = nlohmann::json::parse(output.substr(begin, output.find('\n', begin) - begin));
  // A computation without exchanges may lead to a loss that is no number, which JSON cannot tell.
  const auto number = [&](const char* name) {
    return line.at(name).is_null() ? 0.0 : line.at(name).get<double>();
  };
  return {.tokens_per_second = number("tokens_per_second"),
          .step_ms = number("step_ms"),
          .peak_mb = number("peak_mb"),
          .gpu_used_mb = number("gpu_used_mb"),
          .loss = number("loss"),
          .backend = line.at("backend")};
}

std::string arguments_of(const CompareOptions& options, const Contest& contest) {
  return fmt::format(
      "--strategy {} --steps {} --warm-up {} --batch {} --learning-rate {} --size {} --device {}",
      contest.strategy.name,
      options.run.steps,
      options.run.warm_up,
      batch_per_rank(options.run, contest.ranks),
      options.run.learning_rate,
      options.run.size,
      name_of(options.run.device));
}

std::string with_threads(const Contest& contest, const std::string& command) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return fmt::format("OMP_NUM_THREADS={} {}", std::max(1, cores / contest.ranks), command);
}

}  // namespace

std::string output_of(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw Error("cannot start: " + command);
  std::string text;
  for (std::array<char, 4096> part{}; fgets(part.data(), part.size(), pipe) != nullptr;) {
    text += part.data();
  }
  if (pclose(pipe) != 0) throw Error(fmt::format("{} failed:\n{}", command, text));
  return text;
}

Figures run_pytorch(const CompareOptions& options, const Contest& contest) {
  return figures_of(
      with_threads(contest,
                   fmt::format("{} -m torch.distributed.run --standalone --nproc-per-node {} {} {}",
                               options.python,
                               contest.ranks,
                               options.peer,
                               arguments_of(options, contest))));
}

Figures run_sheaf(const CompareOptions& options, const Contest& contest) {
  // MPS is started here, for both sides alike, or not at all.
  return figures_of(
      with_threads(contest,
                   fmt::format("{} --ranks {} --mps off --model {} --backend {} --exchange {} {}",
                               options.program,
                               contest.ranks,
                               options.run.model,
                               name_of(options.run.backend),
                               name_of(options.run.exchange),
                               arguments_of(options, contest))));
}

}  // namespace sheaf::bench
