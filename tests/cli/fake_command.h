#pragma once

#include <functional>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../base/sample_options.h"
#include "cli/option_set.h"
#include "cli/program.h"

namespace sheaf::cli {

/// A command that takes everything a command can take, and prints its name when it runs.
class FakeCommand final : public Command {
 public:
  explicit FakeCommand(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view summary() const override { return "pretend to work"; }
  void declare(OptionSet& options) override {
    options.config_file();
    options.flag("json", json_, "print JSON");
    options.value("nodes", nodes_, "machines", at_least(1));
    options.add("job", job_);
    options.rest(program_, "the program to start");
  }
  int run(Console& console) override {
    if (action) return action();
    console.out << name_ << " ran " << job_.ranks << "\n";
    return 0;
  }

  /// Runs instead, where set.
  std::function<int()> action;

 private:
  std::string name_;
  bool json_ = false;
  int nodes_ = 1;
  sample::SampleOptions job_;
  std::vector<std::string> program_;
};

/// What a run of the program left behind.
struct Outcome {
  int exit_code = 0;
  std::string out;
  std::string err;
};

/// Runs the program with the commands `launch` and `train`; the first does `action`.
inline Outcome run_fake(const std::vector<std::string>& arguments,
                        std::function<int()> action = nullptr) {
  CommandList commands;
  auto launch = std::make_unique<FakeCommand>("launch");
  launch->action = std::move(action);
  commands.push_back(std::move(launch));
  commands.push_back(std::make_unique<FakeCommand>("train"));
  std::ostringstream out;
  std::ostringstream err;
  const int exit_code = run_program(commands, arguments, Console{.out = out, .err = err});
  return {.exit_code = exit_code, .out = out.str(), .err = err.str()};
}

}  // namespace sheaf::cli
