#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sheaf/comm/init.h"

namespace sheaf::testing {

/// What the ranks of a test find. Rank 0 prints every case.
class Report {
 public:
  explicit Report(int rank) : rank_(rank) {}

  /// Runs `check`, which exchanges nothing with other ranks, and notes what it throws; later cases
  /// run in any case.
  void check(const std::string& name, const std::function<void()>& check);
  [[nodiscard]] bool all_well() const { return all_well_; }

 private:
  int rank_;
  bool all_well_ = true;
};

/// What one rank of a test is given.
struct RoleContext {
  comm::Group world;
  at::Device device;
  Report& report;
  /// The arguments `--name=value` of the command line.
  std::map<std::string, std::string> arguments;
};

/// Something that copies of this program do together, each a rank in a process of its own: CUDA
/// cannot be used after a fork.
struct Role {
  std::string_view name;
  void (*run)(const RoleContext& context);
};

/// All there are; main.cpp lists them.
[[nodiscard]] std::span<const Role> all_roles();

/// How roles are played.
struct Cast {
  /// Names of roles, with commas between.
  std::string roles;
  int ranks = 1;
  /// A name of comm::BackendKind.
  std::string backend = "nccl";
  std::string mps = "auto";
};

/// Shows it in the names of tests.
void PrintTo(const Cast& cast, std::ostream* stream);

/// Returns why ranks cannot be run on a GPU here, if they cannot.
[[nodiscard]] std::optional<std::string> why_no_ranks(const Cast& cast);

/// Runs the roles and fails the test, with all that was printed, unless every case went well.
void play(const Cast& cast);

/// Plays the roles that the command line `--roles=A,B --backend=NAME [--device=cpu] [--ranks N]`
/// names, or starts the ranks that play them; returns the exit code.
int play_from_command_line(int argc, char** argv);

}  // namespace sheaf::testing
