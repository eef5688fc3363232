#include "sheaf/base/toml.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/literal.h"
#include "base/quoting.h"
#include "sheaf/base/error.h"
#include "sheaf/base/nearest.h"

namespace sheaf {
namespace {

// Anything longer is a wrong file, or a device that never ends.
constexpr std::size_t kLongestFile = 4 << 20;

std::string read_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw UsageError(path.string() + ": expected a TOML file, got a directory");
  }
  std::ifstream file(path, std::ios::binary);
  std::string document(kLongestFile + 1, '\0');
  if (!file) throw UsageError(fmt::format("{}: {}", path.string(), std::strerror(errno)));
  file.read(document.data(), static_cast<std::streamsize>(document.size()));
  if (file.bad()) throw UsageError(path.string() + ": cannot be read");
  document.resize(static_cast<std::size_t>(file.gcount()));
  if (document.size() > kLongestFile) {
    throw UsageError(path.string() + ": expected a TOML file of at most 4 MiB, got a longer one");
  }
  return document;
}

std::string_view section_of(std::string_view path) {
  const auto dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

std::string describe_value(const toml::node& node) {
  if (const auto* text = node.as_string()) return "the text " + in_quotes(text->get());
  if (const auto* number = node.as_integer()) return exact_text(number->get());
  if (const auto* number = node.as_floating_point()) return toml_literal(number->get());
  if (const auto* truth = node.as_boolean()) return toml_literal(truth->get());
  if (node.is_array()) return "a list";
  if (node.is_table()) return "a section";
  return "a date or time";
}

template <class Item>
bool is_list_of(const toml::node& node) {
  const auto* items = node.as_array();
  return items != nullptr && (items->empty() || items->is_homogeneous<Item>());
}

// Numbers may be written with a point or without one.
bool is_list_of_numbers(const toml::node& node) {
  const auto* items = node.as_array();
  if (items == nullptr) return false;
  return std::ranges::all_of(*items, [](const toml::node& item) { return item.is_number(); });
}

bool fits(FieldKind kind, const toml::node& node) {
  switch (kind) {
    case FieldKind::boolean:
      return node.is_boolean();
    case FieldKind::integer:
      return node.is_integer();
    case FieldKind::number:
      return node.is_number();
    case FieldKind::text:
    case FieldKind::choice:
      return node.is_string();
    case FieldKind::size:
    case FieldKind::time:
      return node.is_string() || node.is_number();
    case FieldKind::texts:
      return is_list_of<std::string>(node);
    case FieldKind::integers:
      return is_list_of<std::int64_t>(node);
    case FieldKind::numbers:
      return is_list_of_numbers(node);
  }
  return false;
}

std::string text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return exact_text(number->get());
  if (const auto* number = node.as_floating_point()) return exact_text(number->get());
  return toml_literal(node.as_boolean()->get());
}

std::vector<std::string> texts_of(const toml::array& items) {
  std::vector<std::string> texts;
  for (const auto& item : items) texts.push_back(text_of(item));
  return texts;
}

// Walks the tables of one document and sets the fields that its keys name.
class Reader {
 public:
  Reader(std::string_view origin, std::span<Field> fields) : origin_(origin), fields_(fields) {}

  void read(const toml::table& table, const std::string& prefix) {
    for (const auto& [key, node] : table) {
      // A quoted key may hold a dot, which must not pass for a path.
      const std::string_view name = key.str();
      const bool is_odd = name.empty() || name.find('.') != std::string_view::npos;
      const std::string path = prefix + (is_odd ? toml_literal(name) : escaped(name));
      if (Field* field = find_field(fields_, path)) {
        set(*field, node);
      } else if (is_section(path)) {
        const auto* section = node.as_table();
        if (section == nullptr)
          fail(node, path + ": expected a section, got " + describe_value(node));
        read(*section, path + ".");
      } else {
        fail_unknown(path, static_cast<int>(key.source().begin.line));
      }
    }
  }

 private:
  [[nodiscard]] std::string place(int line) const { return fmt::format("{}:{}: ", origin_, line); }

  [[noreturn]] void fail(const toml::node& node, const std::string& message) const {
    throw UsageError(place(static_cast<int>(node.source().begin.line)) + message);
  }

  [[noreturn]] void fail_unknown(const std::string& path, int line) const {
    std::vector<std::string> known;
    for (const auto& field : fields_) {
      known.push_back(field.path());
      const std::string section(section_of(field.path()));
      if (!section.empty() && std::ranges::find(known, section) == known.end()) {
        known.push_back(section);
      }
    }
    const auto meant = nearest(path, known);
    const std::string hint = meant ? ", did you mean " + *meant + "?" : siblings(path);
    throw UsageError(place(line) + path + ": unknown key" + hint);
  }

  // Lists what could stand in the place of an unknown key.
  [[nodiscard]] std::string siblings(std::string_view path) const {
    const std::string_view section = section_of(path);
    std::vector<std::string> names;
    for (const auto& field : fields_) {
      std::string_view rest = field.path();
      if (!section.empty() && !rest.starts_with(std::string(section) + ".")) continue;
      if (!section.empty()) rest.remove_prefix(section.size() + 1);
      const std::string name(rest.substr(0, rest.find('.')));
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    return names.empty() ? "" : ", known here: " + join_or(names);
  }

  [[nodiscard]] bool is_section(const std::string& path) const {
    return std::ranges::any_of(
        fields_, [&](const Field& field) { return field.path().starts_with(path + "."); });
  }

  void set(Field& field, const toml::node& node) const {
    if (!fits(field.kind(), node)) {
      fail(node,
           fmt::format(
               "{}: expected {}, got {}", field.path(), field.expected(), describe_value(node)));
    }
    try {
      if (const auto* items = node.as_array()) {
        field.set_items(texts_of(*items));
      } else {
        field.set(text_of(node));
      }
    } catch (const UsageError& error) {
      std::rethrow_exception(error.with_prefix(place(static_cast<int>(node.source().begin.line))));
    }
  }

  std::string_view origin_;
  std::span<Field> fields_;
};

void append_field(std::string& document, const Field& field) {
  const std::string allowed = field.allowed();
  document += fmt::format("# {}{}{}\n", field.help(), allowed.empty() ? "" : "; ", allowed);
  const std::string_view section = section_of(field.path());
  const auto key = field.path().substr(section.empty() ? 0 : section.size() + 1);
  document += fmt::format("{} = {}\n", key, field.literal());
}

}  // namespace

void read_toml(std::string_view document, std::string_view origin, std::span<Field> fields) {
  toml::table table;
  try {
    table = toml::parse(document, origin);
  } catch (const toml::parse_error& error) {
    throw UsageError(fmt::format(
        "{}:{}: not TOML: {}", origin, error.source().begin.line, escaped(error.description())));
  }
  Reader(origin, fields).read(table, "");
}

void read_toml_file(const std::filesystem::path& path, std::span<Field> fields) {
  read_toml(read_file(path), path.string(), fields);
}

std::string write_toml(std::span<const Field> fields) {
  // The empty section comes first: in TOML, keys without a section cannot follow one.
  std::vector<std::string_view> sections = {""};
  for (const auto& field : fields) {
    const auto section = section_of(field.path());
    if (std::ranges::find(sections, section) == sections.end()) sections.push_back(section);
  }
  std::string document;
  for (const auto section : sections) {
    if (!section.empty())
      document += fmt::format("{}[{}]\n", document.empty() ? "" : "\n", section);
    for (const auto& field : fields) {
      if (section_of(field.path()) == section) append_field(document, field);
    }
  }
  return document;
}

}  // namespace sheaf
