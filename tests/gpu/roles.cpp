#include "gpu/roles.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <sstream>

#include "gpu/programs.h"
#include "sheaf/base/error.h"
#include "sheaf/launch/start_ranks.h"
#include "support/run_command.h"

namespace sheaf::testing {
namespace {

// All cases of a role; a rank that hangs is noticed before.
constexpr Seconds kDeadline{280};
constexpr Seconds kTimeout{60};

std::optional<comm::BackendKind> backend_named(std::string_view name) {
  for (const auto& [text, kind] : comm::enum_names(comm::BackendKind{})) {
    if (name == text) return kind;
  }
  return std::nullopt;
}

const Role& role_named(std::string_view name) {
  for (const Role& role : all_roles()) {
    if (role.name == name) return role;
  }
  throw UsageError("there is no role " + std::string(name));
}

std::map<std::string, std::string> named_arguments(int argc, char** argv) {
  std::map<std::string, std::string> named;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t sign = argument.find('=');
    if (!argument.starts_with("--") || sign == std::string::npos) continue;
    named[argument.substr(2, sign - 2)] = argument.substr(sign + 1);
  }
  return named;
}

}  // namespace

void Report::check(const std::string& name, const std::function<void()>& check) {
  try {
    check();
    if (rank_ == 0) std::cout << "ok " << name << std::endl;
  } catch (const std::exception& error) {
    all_well_ = false;
    std::cout << "FAILED " << name << ": " << error.what() << std::endl;
  }
}

void PrintTo(const Cast& cast, std::ostream* stream) {
  *stream << cast.roles << " on " << cast.ranks << " over " << cast.backend;
}

std::optional<std::string> why_no_ranks(const Cast& cast) {
  if (!at::hasCUDA()) return "there is no CUDA device";
  if (!backend_named(cast.backend)) return "this sheaf has no backend " + cast.backend;
  return std::nullopt;
}

void play(const Cast& cast) {
  const CommandResult result = run_command({own_program(),
                                            "--roles=" + cast.roles,
                                            "--backend=" + cast.backend,
                                            "--mps=" + cast.mps,
                                            "--ranks",
                                            std::to_string(cast.ranks)},
                                           kDeadline);
  EXPECT_EQ(result.exit_code, 0) << describe(result);
}

int play_from_command_line(int argc, char** argv) try {
  if (const auto exit_code = launch::start_ranks(argc, argv)) return *exit_code;
  const auto arguments = named_arguments(argc, argv);
  const std::string& backend = arguments.at("backend");
  const auto kind = backend_named(backend);
  if (!kind) throw UsageError("there is no backend " + backend);
  const bool on_cpu = arguments.contains("device") && arguments.at("device") == "cpu";
  const comm::Group world =
      comm::init({.backend = *kind,
                  .device = on_cpu ? comm::DeviceKind::cpu : comm::DeviceKind::cuda,
                  .timeout = kTimeout});
  Report report(world.rank());
  const at::Device device = on_cpu ? at::Device(at::kCPU) : at::Device(at::kCUDA, 0);
  std::istringstream names(arguments.at("roles"));
  for (std::string name; std::getline(names, name, ',');) {
    role_named(name).run({world, device, report, arguments});
  }
  return report.all_well() ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << std::endl;
  return 1;
}

}  // namespace sheaf::testing
