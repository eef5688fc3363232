#include "cli/configuration_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/option_set.h"

namespace sheaf::cli {
namespace {

constexpr std::string_view kIntroduction =
    "# Configuration\n"
    "\n"
    "<!-- Written by `sheaf help configuration > docs/configuration.md`; do not edit. -->\n"
    "\n"
    "A configuration is a TOML file. Each option below is a key of a section in that file, and a\n"
    "flag that overrides it: `[section]` with `key = 1` is `--section.key=1`. `--print-config`\n"
    "prints the file that a command line amounts to.\n";

struct Section {
  std::string name;
  std::vector<std::string> users;
  // Keys that already have their row; commands that share a section share its keys.
  std::vector<std::string> keys;
  std::string rows;
};

// A bar would end the cell.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

void add_unless_there(std::vector<std::string>& list, const std::string& text) {
  if (std::ranges::find(list, text) == list.end()) list.push_back(text);
}

void add_field(std::vector<Section>& sections, const Field& field, std::string_view command) {
  const auto dot = field.path().rfind('.');
  const std::string name = field.path().substr(0, dot);
  const std::string key = field.path().substr(dot + 1);
  auto section = std::ranges::find(sections, name, &Section::name);
  if (section == sections.end()) {
    section = sections.insert(section, Section{.name = name, .users = {}, .keys = {}, .rows = {}});
  }
  add_unless_there(section->users, fmt::format("`sheaf {}`", command));
  if (std::ranges::find(section->keys, key) != section->keys.end()) return;
  section->keys.push_back(key);
  section->rows += fmt::format("| `{}` | {} | `{}` | {} | {} |\n",
                               key,
                               kind_name(field.kind()),
                               cell(field.default_literal()),
                               cell(field.allowed()),
                               cell(field.help()));
}

}  // namespace

std::string configuration_page(const CommandList& commands) {
  std::vector<Section> sections;
  for (const auto& command : commands) {
    OptionSet options;
    command->declare(options);
    for (const auto& field : options.config_fields()) add_field(sections, field, command->name());
  }
  std::string page(kIntroduction);
  for (const auto& section : sections) {
    page += fmt::format(
        "\n## `[{}]`\n\nTaken by {}.\n\n", section.name, fmt::join(section.users, ", "));
    page += "| key | type | default | allowed | meaning |\n|---|---|---|---|---|\n" + section.rows;
  }
  return page;
}

std::string configuration_page() { return configuration_page(commands()); }

}  // namespace sheaf::cli
