#include "cli/program.h"

#include <fmt/format.h>

#include <exception>
#include <optional>
#include <ostream>
#include <span>

#include "base/quoting.h"
#include "cli/configuration_page.h"
#include "cli/option_set.h"
#include "comm/compat.h"
#include "sheaf/base/error.h"
#include "sheaf/base/nearest.h"
#include "sheaf/base/table.h"
#include "sheaf/base/toml.h"
#include "sheaf/base/version.h"

namespace sheaf::cli {
namespace {

// The exit code of UsageError, for the one case that prints more than a sentence.
constexpr int kWrongUsage = 2;

std::string overview(const CommandList& commands) {
  Table table;
  for (const auto& command : commands) {
    table.add({fmt::format("  {}", command->name()), std::string(command->summary())});
  }
  table.add({"  help", "explain a command (sheaf help NAME), or print this list"});
  return "usage: sheaf <command> [options]\n\ncommands:\n" + table.str() +
         "\nsheaf help configuration lists every option of a configuration file\n"
         "sheaf --version prints the version\n";
}

// Returns how many of the arguments are the command's name, which may be several words; 0 if the
// name is another.
std::size_t words_of_name(std::string_view name, std::span<const std::string> arguments) {
  std::size_t words = 0;
  while (words < arguments.size() && name.starts_with(arguments[words])) {
    name.remove_prefix(arguments[words++].size());
    if (name.empty()) return words;
    if (!name.starts_with(' ')) return 0;
    name.remove_prefix(1);
  }
  return 0;
}

// Lists the commands whose names begin with the word `group`; empty if there are none.
std::string group_overview(const CommandList& commands, const std::string& group) {
  Table table;
  for (const auto& command : commands) {
    if (!command->name().starts_with(group + " ")) continue;
    table.add({fmt::format("  {}", command->name()), std::string(command->summary())});
  }
  const std::string lines = table.str();
  if (lines.empty()) return "";
  return fmt::format("usage: sheaf {} <command> [options]\n\ncommands:\n{}", group, lines);
}

bool asks_for_help(std::span<const std::string> arguments) {
  return arguments.size() == 1 && (arguments[0] == "--help" || arguments[0] == "-h");
}

void refuse_more(std::span<const std::string> arguments) {
  if (!arguments.empty()) throw UsageError("unexpected argument " + in_quotes(arguments.front()));
}

class Program {
 public:
  Program(const CommandList& commands, Console console) : commands_(commands), console_(console) {}

  int run(std::span<const std::string> arguments) {
    if (arguments.empty()) {
      console_.err << overview(commands_);
      return kWrongUsage;
    }
    const std::string& first = arguments.front();
    const auto others = arguments.subspan(1);
    if (first == "help" || first == "--help" || first == "-h") return help(others);
    if (first == "--version") {
      refuse_more(others);
      return print(
          fmt::format("sheaf {} (LibTorch {})\n", version(), comm::compat::libtorch_version()));
    }
    const std::string group = group_overview(commands_, first);
    if (!group.empty() && asks_for_help(others)) return print(group);
    if (!group.empty() && others.empty()) {
      console_.err << group;
      return kWrongUsage;
    }
    const auto [command, words] = find(arguments);
    return run_command(*command, arguments.subspan(words));
  }

  /// Names who speaks in an error: `sheaf`, or `sheaf launch` while the options of launch are read.
  [[nodiscard]] const std::string& speaker() const { return speaker_; }

 private:
  int print(const std::string& text) {
    console_.out << text;
    return 0;
  }

  int help(std::span<const std::string> topics) {
    const bool asks_about_help = !topics.empty() && (topics[0] == "--help" || topics[0] == "-h");
    if (topics.empty() || asks_about_help) return print(overview(commands_));
    if (topics.size() == 1) {
      if (topics[0] == "help") return print(overview(commands_));
      if (topics[0] == "configuration") return print(configuration_page(commands_));
      const std::string group = group_overview(commands_, topics[0]);
      if (!group.empty()) return print(group);
    }
    const auto [command, words] = find(topics);
    refuse_more(topics.subspan(words));
    const std::string ask = "--help";
    return run_command(*command, std::span(&ask, 1));
  }

  struct Found {
    Command* command = nullptr;
    std::size_t words = 0;
  };

  Found find(std::span<const std::string> arguments) {
    std::vector<std::string> known = {"help", "--help", "--version"};
    for (const auto& command : commands_) {
      if (const auto words = words_of_name(command->name(), arguments)) {
        return {command.get(), words};
      }
      known.emplace_back(command->name());
    }
    refuse_name(arguments, known);
  }

  [[noreturn]] void refuse_name(std::span<const std::string> arguments,
                                std::span<const std::string> known) const {
    std::string name = arguments.front();
    // Of a group the words up to the first option are what was meant as a name.
    if (!group_overview(commands_, name).empty()) {
      for (const auto& word : arguments.subspan(1)) {
        if (word.starts_with("-")) break;
        name += " " + word;
      }
    }
    const auto meant = nearest(name, known);
    const std::string what =
        name.starts_with("-") ? "option " + escaped(name) : "command " + in_quotes(name);
    throw UsageError("unknown " + what +
                     (meant ? ", did you mean " + *meant + "?" : ", see sheaf help"));
  }

  int run_command(Command& command, std::span<const std::string> arguments) {
    OptionSet options;
    command.declare(options);
    speaker_ = fmt::format("sheaf {}", command.name());
    const Request request = options.parse(arguments);
    speaker_ = "sheaf";
    switch (request) {
      case Request::help:
        return print(options.help(command.name(), command.summary()));
      case Request::print_config:
        return print(write_toml(options.config_fields()));
      case Request::run:
        break;
    }
    return command.run(console_);
  }

  const CommandList& commands_;
  Console console_;
  std::string speaker_ = "sheaf";
};

// Errors of others may bring a backtrace along, which is not for the user.
std::string first_line(std::string_view text) { return escaped(text.substr(0, text.find('\n'))); }

}  // namespace

int run_program(const CommandList& commands,
                const std::vector<std::string>& arguments,
                Console console) {
  Program program(commands, console);
  int exit_code = 1;
  std::optional<std::string> problem;
  try {
    exit_code = program.run(arguments);
    if (!console.out.flush()) throw IoError("cannot write to the standard output");
  } catch (const Error& error) {
    problem = escaped(error.what());
    exit_code = error.exit_code();
  } catch (const std::exception& error) {
    problem = first_line(error.what());
  } catch (...) {
    problem = "ended by an exception of unknown type";
  }
  if (problem) console.err << program.speaker() << ": " << *problem << std::endl;
  return exit_code;
}

int run_program(int argc, char** argv, std::ostream& out, std::ostream& err) {
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return run_program(commands(), arguments, Console{.out = out, .err = err});
}

}  // namespace sheaf::cli
