#include "launch/environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

#include "sheaf/base/error.h"

namespace sheaf::launch {
namespace {

/// The same on all nodes.
int port_for_others(std::uint16_t port) { return port < 65'535 ? port + 1 : port - 1; }

std::vector<Variable> rank_variables(const RankPlace& place) {
  const auto& host = place.endpoint.host;
  const auto port = place.endpoint.port;
  std::vector<Variable> variables{
      {"RANK", std::to_string(place.rank)},
      {"LOCAL_RANK", std::to_string(place.local_rank)},
      {"WORLD_SIZE", std::to_string(place.world_size)},
      {"LOCAL_WORLD_SIZE", std::to_string(place.local_ranks)},
      {"GROUP_RANK", std::to_string(place.node_rank)},
      {"GROUP_WORLD_SIZE", std::to_string(place.nodes)},
      {"MASTER_ADDR", host},
      // Programs of torch.distributed know no secret: their rank 0 serves them at the next port.
      {"MASTER_PORT", std::to_string(port_for_others(port))},
      {"TORCHELASTIC_USE_AGENT_STORE", "False"},
      {"SHEAF_STORE_PORT", std::to_string(port)},
      {"SHEAF_STORE_SILENCE_MS", std::to_string(place.endpoint.silence.count())},
      {"TORCHELASTIC_RESTART_COUNT", std::to_string(place.generation)},
      {"TORCHELASTIC_MAX_RESTARTS", std::to_string(place.max_restarts)},
      {"SHEAF_GENERATION", std::to_string(place.generation)},
      // The same on every node, and no other job of these machines has it at the same time.
      {"TORCHELASTIC_RUN_ID", "sheaf_" + host + "_" + std::to_string(port)},
      // Also where there is none: ranks must not take one that was meant for others.
      {comm::store::Secret::kVariable, place.endpoint.secret.hex()},
  };
  if (place.min_ranks > 0) {
    variables.emplace_back("SHEAF_MIN_RANKS", std::to_string(place.min_ranks));
  }
  return variables;
}

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

bool has_variable(std::span<const std::string> environment, std::string_view name) {
  return std::any_of(environment.begin(), environment.end(), [&](const std::string& entry) {
    return name_of(entry) == name;
  });
}

bool is_program(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

std::string find_in_path(const std::string& name) {
  const char* variable = std::getenv("PATH");
  std::istringstream folders(variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const auto path = std::filesystem::path(folder.empty() ? "." : folder) / name;
    if (is_program(path)) return path.string();
  }
  if (is_program(name)) {
    throw UsageError("the program is not in PATH but here, so write it as ./" + name);
  }
  throw UsageError("no such program in PATH: " + name);
}

}  // namespace

std::vector<std::string> rank_environment(std::span<const std::string> inherited,
                                          const RankPlace& place,
                                          int cores) {
  auto variables = rank_variables(place);
  if (!has_variable(inherited, "OMP_NUM_THREADS")) {
    variables.emplace_back("OMP_NUM_THREADS",
                           std::to_string(std::max(1, cores / place.local_ranks)));
  }
  return with_variables(inherited, variables);
}

std::vector<std::string> with_variables(std::span<const std::string> environment,
                                        const std::vector<Variable>& variables) {
  const auto is_replaced = [&](std::string_view entry) {
    return std::any_of(variables.begin(), variables.end(), [&](const Variable& variable) {
      return variable.first == name_of(entry);
    });
  };
  std::vector<std::string> result;
  for (const auto& entry : environment) {
    if (!is_replaced(entry)) result.push_back(entry);
  }
  for (const auto& [name, value] : variables) result.push_back(name + "=" + value);
  return result;
}

std::vector<std::string> current_environment() {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  return environment;
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string find_program(const std::string& name) {
  if (name.find('/') == std::string::npos) return find_in_path(name);
  std::error_code ignored;
  if (!std::filesystem::exists(name, ignored)) throw UsageError("no such program: " + name);
  if (!is_program(name)) throw UsageError("the program is not an executable file: " + name);
  return name;
}

}  // namespace sheaf::launch
