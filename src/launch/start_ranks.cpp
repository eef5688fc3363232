#include "sheaf/launch/start_ranks.h"

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/command_line.h"
#include "sheaf/base/error.h"
#include "sheaf/launch/launcher.h"

namespace sheaf::launch {
namespace {

struct Arguments {
  std::optional<int> ranks;
  /// The others, without the program's name.
  std::vector<std::string> others;
};

int parse_ranks(std::string_view text) {
  int ranks = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ranks);
  if (error != std::errc() || end != text.data() + text.size() || ranks < 1) {
    throw UsageError("--ranks must be a whole number of at least 1, not '" + std::string(text) +
                     "'");
  }
  return ranks;
}

Arguments parse(int argc, char** argv) {
  constexpr std::string_view kName = "--ranks";
  constexpr std::string_view kNameAndSign = "--ranks=";
  Arguments found;
  bool is_ours = true;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    is_ours = is_ours && argument != "--";
    const bool joined = argument.starts_with(kNameAndSign);
    if (!is_ours || (argument != kName && !joined)) {
      found.others.emplace_back(argument);
      continue;
    }
    if (found.ranks.has_value()) throw UsageError("--ranks is given twice");
    if (!joined && i + 1 == argc) throw UsageError("--ranks needs a number");
    found.ranks = parse_ranks(joined ? argument.substr(kNameAndSign.size()) : argv[++i]);
  }
  return found;
}

// Where a launcher tells a rank that it is one, and how many there are.
struct JobVariables {
  const char* rank;
  const char* also;
  const char* size;
};

constexpr JobVariables kJobs[] = {
    {"RANK", "WORLD_SIZE", "WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS"},
};

// Returns the size of the job this process is a rank of, as its launcher wrote it.
std::optional<std::string> job_size() {
  for (const auto& job : kJobs) {
    if (std::getenv(job.rank) == nullptr || std::getenv(job.also) == nullptr) continue;
    const char* size = std::getenv(job.size);
    return size != nullptr ? size : "unknown";
  }
  return std::nullopt;
}

std::string own_path() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  // A program that was rebuilt meanwhile has no path any more, but can still be started again.
  const bool usable = !error && std::filesystem::exists(path, error);
  return usable ? path.string() : "/proc/self/exe";
}

}  // namespace

std::optional<int> start_ranks() {
  std::vector<std::string> arguments = own_command_line();
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  return start_ranks(static_cast<int>(pointers.size()), pointers.data());
}

std::optional<int> start_ranks(int argc, char** argv) {
  auto arguments = parse(argc, argv);
  if (!arguments.ranks.has_value()) return std::nullopt;
  const std::string ranks = std::to_string(*arguments.ranks);
  if (const auto size = job_size()) {
    if (*size == ranks) return std::nullopt;
    throw UsageError("this is already a rank of a job of size " + *size +
                     ", so --ranks cannot be " + ranks);
  }
  LaunchOptions options{.ranks = *arguments.ranks, .output = Output::first_rank_plain};
  options.command.push_back(own_path());
  options.command.insert(options.command.end(), arguments.others.begin(), arguments.others.end());
  return launch(options);
}

}  // namespace sheaf::launch
