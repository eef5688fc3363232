#include "environment.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string_view>

#include "sheaf/base/error.h"

namespace sheaf::comm {
namespace {

struct Limits {
  long low;
  long high;
};

long number(const std::string& name, const std::string& text, Limits limits) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < limits.low ||
      value > limits.high) {
    throw UsageError(fmt::format("the variable {} must be a whole number from {} to {}, got '{}'",
                                 name,
                                 limits.low,
                                 limits.high,
                                 text));
  }
  return value;
}

class Variables {
 public:
  Variables(const Lookup& lookup, std::string starter)
      : lookup_(lookup), starter_(std::move(starter)) {}

  [[nodiscard]] long required(const std::string& name, Limits limits) const {
    const auto text = lookup_(name);
    if (!text) throw UsageError(fmt::format("{} sets no variable {}", starter_, name));
    return number(name, *text, limits);
  }
  [[nodiscard]] long optional(const std::string& name, Limits limits, long otherwise) const {
    const auto text = lookup_(name);
    return text ? number(name, *text, limits) : otherwise;
  }
  [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise) const {
    return lookup_(name).value_or(otherwise);
  }

 private:
  const Lookup& lookup_;
  std::string starter_;
};

constexpr long kMaxRanks = 1 << 24;
constexpr Limits kPorts{1, 65535};
constexpr Limits kMilliseconds{1, std::numeric_limits<int>::max()};

/// Returns a port that all ranks of one job agree on without talking. It stays below the range from
/// which the system takes ports for outgoing connections.
std::uint16_t port_of_job(const std::string& job) {
  return static_cast<std::uint16_t>(15000 + std::hash<std::string>()(job) % 15000);
}

/// Returns the first host of a Slurm list: "node[07-09,12],login" gives "node07".
std::string first_host(const std::string& list) {
  const std::size_t bracket = list.find('[');
  const std::size_t comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
  const std::size_t end = list.find_first_of(",-]", bracket + 1);
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
}

void read_ranks(Place& place,
                const Variables& variables,
                const std::string& rank,
                const std::string& size) {
  place.size = static_cast<int>(variables.required(size, {1, kMaxRanks}));
  place.rank = static_cast<int>(variables.required(rank, {0, place.size - 1}));
}

Place from_torchrun(const Lookup& lookup) {
  Place place;
  place.starter = "torchrun";
  const Variables variables(lookup, "the starter");
  read_ranks(place, variables, "RANK", "WORLD_SIZE");
  place.local_size =
      static_cast<int>(variables.optional("LOCAL_WORLD_SIZE", {1, place.size}, place.size));
  place.local_rank = static_cast<int>(variables.optional("LOCAL_RANK", {0, kMaxRanks}, place.rank));
  place.host = variables.text("MASTER_ADDR", place.host);
  // Torchrun writes an identity of its own, also where `sheaf launch` has started it.
  place.is_sheafs_store =
      lookup("SHEAF_STORE_PORT") && variables.text("TORCHELASTIC_RUN_ID", "").starts_with("sheaf_");
  if (place.size > 1) {
    const char* port = place.is_sheafs_store ? "SHEAF_STORE_PORT" : "MASTER_PORT";
    place.port = static_cast<std::uint16_t>(variables.required(port, kPorts));
  }
  place.starter_serves =
      place.is_sheafs_store || variables.text("TORCHELASTIC_USE_AGENT_STORE", "") == "True";
  if (place.is_sheafs_store) {
    place.silence = std::chrono::milliseconds(
        variables.optional("SHEAF_STORE_SILENCE_MS", kMilliseconds, place.silence.count()));
  }
  place.one_host = lookup("LOCAL_WORLD_SIZE") && place.local_size == place.size;
  place.generation = variables.text("TORCHELASTIC_RESTART_COUNT", "0");
  return place;
}

Place from_mpirun(const Lookup& lookup) {
  Place place;
  place.starter = "mpirun";
  const Variables variables(lookup, "mpirun");
  read_ranks(place, variables, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
  place.local_size = static_cast<int>(
      variables.optional("OMPI_COMM_WORLD_LOCAL_SIZE", {1, place.size}, place.size));
  place.local_rank = static_cast<int>(
      variables.optional("OMPI_COMM_WORLD_LOCAL_RANK", {0, kMaxRanks}, place.rank));
  place.one_host = lookup("OMPI_COMM_WORLD_LOCAL_SIZE") && place.local_size == place.size;
  if (place.local_size < place.size && !lookup("MASTER_ADDR")) {
    throw UsageError(
        "mpirun over several hosts does not say where rank 0 is: set MASTER_ADDR with mpirun -x");
  }
  place.host = variables.text("MASTER_ADDR", place.host);
  const std::string job =
      variables.text("PMIX_NAMESPACE", variables.text("OMPI_MCA_ess_base_jobid", ""));
  place.port =
      static_cast<std::uint16_t>(variables.optional("MASTER_PORT", kPorts, port_of_job(job)));
  return place;
}

Place from_srun(const Lookup& lookup) {
  Place place;
  place.starter = "srun";
  const Variables variables(lookup, "srun");
  const std::string size = lookup("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  read_ranks(place, variables, "SLURM_PROCID", size);
  place.local_rank =
      static_cast<int>(variables.optional("SLURM_LOCALID", {0, kMaxRanks}, place.rank));
  // "4(x2),3": the tasks of the first node, then of the others; one node has them all.
  const std::string per_node =
      variables.text("SLURM_STEP_TASKS_PER_NODE", std::to_string(place.size));
  place.local_size = std::atoi(per_node.c_str());
  place.one_host = lookup("SLURM_STEP_TASKS_PER_NODE") && place.local_size == place.size;
  const std::string hosts =
      variables.text("SLURM_STEP_NODELIST", variables.text("SLURM_NODELIST", ""));
  const std::string host = hosts.empty() ? place.host : first_host(hosts);
  place.host = variables.text("MASTER_ADDR", host);
  const std::string job =
      variables.text("SLURM_JOB_ID", "") + "." + variables.text("SLURM_STEP_ID", "");
  place.port =
      static_cast<std::uint16_t>(variables.optional("MASTER_PORT", kPorts, port_of_job(job)));
  place.generation = variables.text("SLURM_RESTART_COUNT", "0");
  return place;
}

}  // namespace

Place read_environment(const Lookup& lookup) {
  if (lookup("RANK") || lookup("WORLD_SIZE")) return from_torchrun(lookup);
  if (lookup("OMPI_COMM_WORLD_RANK")) return from_mpirun(lookup);
  // A batch script has a task number too, but only srun's steps have one per rank.
  if (lookup("SLURM_PROCID") && (lookup("SLURM_STEP_NUM_TASKS") || lookup("SLURM_NTASKS"))) {
    return from_srun(lookup);
  }
  return {};
}

std::optional<std::string> process_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

}  // namespace sheaf::comm
