#include "cli/option_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>

#include "base/quoting.h"
#include "sheaf/base/error.h"
#include "sheaf/base/nearest.h"
#include "sheaf/base/table.h"
#include "sheaf/base/toml.h"

namespace sheaf::cli {
namespace {

bool asks_for_help(std::span<const std::string> tokens) {
  return std::ranges::any_of(
      tokens, [](const std::string& token) { return token == "--help" || token == "-h"; });
}

bool is_option(std::string_view token) { return token.size() > 1 && token.front() == '-'; }

// Returns the value of the option at `at` and moves on to it where it is a token of its own.
std::string take_value(std::span<const std::string> tokens, std::size_t& at, const Field& field) {
  const auto sign = tokens[at].find('=');
  if (sign != std::string::npos) return tokens[at].substr(sign + 1);
  const bool has_next = at + 1 < tokens.size() && !tokens[at + 1].starts_with("--");
  if (field.kind() == FieldKind::boolean) {
    const bool says_which = has_next && (tokens[at + 1] == "true" || tokens[at + 1] == "false");
    return says_which ? tokens[++at] : "true";
  }
  if (!has_next) {
    throw UsageError(fmt::format("--{}: expected {}, got nothing", field.path(), field.expected()));
  }
  return tokens[++at];
}

std::string_view placeholder(FieldKind kind) {
  constexpr std::array<std::string_view, 10> kTexts = {
      "", " N", " X", " TEXT", " SIZE", " TIME", " NAME", " A,B,...", " N,N,...", " X,X,..."};
  return kTexts.at(static_cast<std::size_t>(kind));
}

std::string help_line(const Field& field) {
  const std::string allowed = field.allowed();
  const std::string& usual = field.default_literal();
  const bool has_default = usual != "false" && usual != "\"\"" && usual != "[]";
  std::string notes = has_default ? "default " + usual : "";
  if (!allowed.empty()) notes += (notes.empty() ? "" : "; ") + allowed;
  return notes.empty() ? field.help() : fmt::format("{} ({})", field.help(), notes);
}

void set(Field& field, const std::string& text) {
  try {
    field.set(text);
  } catch (const UsageError& error) {
    std::rethrow_exception(error.with_prefix("--"));
  }
}

Table options_table(std::span<const Field> fields, std::span<const std::string> repeated = {}) {
  Table table;
  for (const auto& field : fields) {
    if (std::ranges::find(repeated, field.path()) != repeated.end()) {
      table.add({fmt::format("  --{} TEXT ...", field.path()), field.help() + ", any number"});
      continue;
    }
    table.add({fmt::format("  --{}{}", field.path(), placeholder(field.kind())), help_line(field)});
  }
  return table;
}

}  // namespace

void OptionSet::positional(std::string_view name,
                           std::string& target,
                           std::string_view help,
                           Presence presence) {
  positionals_.push_back({.name = std::string(name),
                          .target = &target,
                          .help = std::string(help),
                          .presence = presence});
}

void OptionSet::positionals(std::string_view name,
                            std::vector<std::string>& target,
                            std::string_view help) {
  several_ = Several{.name = std::string(name), .target = &target, .help = std::string(help)};
}

void OptionSet::rest(std::vector<std::string>& target, std::string_view help) {
  rest_ = Rest{.target = &target, .help = std::string(help)};
}

void OptionSet::config_file() {
  positional("config.toml", config_path_, "file of options with a dot", Presence::optional);
  flag("print-config", print_config_, "print all options with a dot as a file, and end");
}

Request OptionSet::parse(std::span<const std::string> arguments) {
  const auto dashes = std::ranges::find(arguments, "--");
  const auto tokens = arguments.first(static_cast<std::size_t>(dashes - arguments.begin()));
  if (asks_for_help(tokens)) return Request::help;
  const auto assignments = read_tokens(tokens);
  if (dashes != arguments.end()) {
    if (!rest_) throw UsageError("nothing can follow --, unexpected argument '--'");
    rest_->target->assign(dashes + 1, arguments.end());
  }
  check_presence();
  if (!config_path_.empty()) read_toml_file(config_path_, sections_.fields());
  assign(assignments);
  return print_config_ ? Request::print_config : Request::run;
}

void OptionSet::assign(const Assignments& assignments) const {
  for (const auto& [field, text] : assignments) {
    if (!is_repeated(*field)) {
      set(*field, text);
      continue;
    }
    // As often as it was given, always with all values.
    std::vector<std::string> items;
    for (const auto& each : assignments) {
      if (each.field == field) items.push_back(each.text);
    }
    field->set_items(items);
  }
}

bool OptionSet::is_repeated(const Field& field) const {
  return std::ranges::find(repeated_, field.path()) != repeated_.end();
}

OptionSet::Assignments OptionSet::read_tokens(std::span<const std::string> tokens) {
  Assignments assignments;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!is_option(tokens[i])) {
      take_positional(tokens[i]);
      continue;
    }
    Field& field = find(tokens[i].substr(0, tokens[i].find('=')));
    const std::string text = take_value(tokens, i, field);
    const auto earlier = std::ranges::find(assignments, &field, &Assignment::field);
    if (earlier != assignments.end() && !is_repeated(field)) {
      throw UsageError(fmt::format("--{}: can be given once, got {} and {}",
                                   field.path(),
                                   in_quotes(earlier->text),
                                   in_quotes(text)));
    }
    assignments.push_back({.field = &field, .text = text});
  }
  return assignments;
}

Field& OptionSet::find(const std::string& option) {
  std::vector<std::string> known = {"help"};
  for (auto* collector : {&values_, &sections_}) {
    for (auto& field : collector->fields()) {
      if (option == "--" + field.path()) return field;
      known.push_back(field.path());
    }
  }
  const auto meant =
      nearest(option.substr(std::min(option.find_first_not_of('-'), option.size())), known);
  throw UsageError("unknown option " + escaped(option) +
                   (meant ? ", did you mean --" + *meant + "?" : ""));
}

void OptionSet::take_positional(const std::string& argument) {
  const auto open = std::ranges::find(positionals_, false, &Positional::is_given);
  if (several_ && !argument.empty() && open == positionals_.end()) {
    several_->target->push_back(argument);
    return;
  }
  if (argument.empty() || open == positionals_.end()) {
    const bool could_follow_dashes = rest_ && !argument.empty();
    throw UsageError("unexpected argument " + in_quotes(argument) +
                     (could_follow_dashes ? ", did you forget -- before it?" : ""));
  }
  *open->target = argument;
  open->is_given = true;
}

void OptionSet::check_presence() const {
  for (const auto& each : positionals_) {
    if (each.presence == Presence::required && !each.is_given) {
      throw UsageError(fmt::format("missing argument {}: {}", each.name, each.help));
    }
  }
  if (several_ && several_->target->empty()) {
    throw UsageError(fmt::format("missing argument {}: {}", several_->name, several_->help));
  }
}

std::string OptionSet::usage(std::string_view command) const {
  std::string line = fmt::format("usage: sheaf {} [options]", command);
  for (const auto& each : positionals_) {
    const bool is_required = each.presence == Presence::required;
    line += fmt::format(fmt::runtime(is_required ? " <{}>" : " [{}]"), each.name);
  }
  if (several_) line += fmt::format(" <{}> ...", several_->name);
  return line + (rest_ ? " -- ...\n" : "\n");
}

std::string OptionSet::arguments_help() const {
  Table table;
  for (const auto& each : positionals_) table.add({"  " + each.name, each.help});
  if (several_) table.add({fmt::format("  {} ...", several_->name), several_->help});
  if (rest_) table.add({"  -- ...", rest_->help});
  const std::string lines = table.str();
  return lines.empty() ? "" : "\narguments:\n" + lines;
}

std::string OptionSet::help(std::string_view command, std::string_view summary) const {
  Table options = options_table(values_.fields(), repeated_);
  options.add({"  --help", "print this text, and end"});
  std::string text = fmt::format("{}\n{}\n", usage(command), summary);
  text += arguments_help() + "\noptions:\n" + options.str();
  if (!config_fields().empty()) {
    text += "\noptions that a configuration file can set:\n" + options_table(config_fields()).str();
  }
  return text;
}

}  // namespace sheaf::cli
