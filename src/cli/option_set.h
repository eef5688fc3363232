#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sheaf/base/options.h"

namespace sheaf::cli {

enum class Presence { required, optional };

/// What the arguments ask for: the command's work, its help, or the configuration they amount to.
enum class Request { run, help, print_config };

/// The options of one command: declared once, then parsed once. What it is given by reference is
/// written by `parse` and must outlive it.
class OptionSet {
 public:
  OptionSet() = default;
  OptionSet(const OptionSet&) = delete;
  OptionSet& operator=(const OptionSet&) = delete;

  /// Mounts a described struct under a section: `--mesh.shard=8`, `[mesh] shard = 8` in the file.
  template <class Options>
  void add(std::string_view section, Options& options) {
    sections_.section(section, options);
  }
  /// Mounts a described struct that consists of sections.
  template <class Options>
  void add(Options& options) {
    describe(sections_, options);
  }
  /// Declares `--name`, which sets `target`; it is not part of the configuration.
  void flag(std::string_view name, bool& target, std::string_view help) {
    values_(name, target, help);
  }
  /// Declares `--name value`, with a limit as in `describe`; it is not part of the configuration.
  template <class T, class... Limit>
  void value(std::string_view name, T& target, std::string_view help, Limit... limit) {
    values_(name, target, help, limit...);
  }
  /// Declares `--name value` that can be given several times; each value is taken as it is.
  void repeated(std::string_view name, std::vector<std::string>& target, std::string_view help) {
    values_(name, target, help);
    repeated_.emplace_back(name);
  }
  /// Declares an argument without a name. They are filled in the order of declaration.
  void positional(std::string_view name,
                  std::string& target,
                  std::string_view help,
                  Presence presence = Presence::required);
  /// Declares that all further arguments without a name go to `target`, of which there must be one.
  void positionals(std::string_view name, std::vector<std::string>& target, std::string_view help);
  /// Declares that everything after `--` goes to `target` as it is.
  void rest(std::vector<std::string>& target, std::string_view help);
  /// Declares an optional TOML file among the positional arguments, and `--print-config`. Flags win
  /// over the file.
  void config_file();

  /// Reads the arguments after the command's name, and the file they name. Throws UsageError.
  [[nodiscard]] Request parse(std::span<const std::string> arguments);

  /// Returns the text of `--help`.
  [[nodiscard]] std::string help(std::string_view command, std::string_view summary) const;
  /// Returns the fields of the mounted structs.
  [[nodiscard]] std::span<const Field> config_fields() const { return sections_.fields(); }

 private:
  struct Positional {
    std::string name;
    std::string* target = nullptr;
    std::string help;
    Presence presence = Presence::required;
    bool is_given = false;
  };
  struct Several {
    std::string name;
    std::vector<std::string>* target = nullptr;
    std::string help;
  };
  struct Rest {
    std::vector<std::string>* target = nullptr;
    std::string help;
  };
  struct Assignment {
    Field* field = nullptr;
    std::string text;
  };
  using Assignments = std::vector<Assignment>;

  [[nodiscard]] Assignments read_tokens(std::span<const std::string> tokens);
  [[nodiscard]] bool is_repeated(const Field& field) const;
  void assign(const Assignments& assignments) const;
  [[nodiscard]] Field& find(const std::string& option);
  void take_positional(const std::string& argument);
  void check_presence() const;
  [[nodiscard]] std::string usage(std::string_view command) const;
  [[nodiscard]] std::string arguments_help() const;

  FieldCollector sections_;
  FieldCollector values_;
  std::vector<std::string> repeated_;
  std::vector<Positional> positionals_;
  std::optional<Several> several_;
  std::optional<Rest> rest_;
  std::string config_path_;
  bool print_config_ = false;
};

}  // namespace sheaf::cli
