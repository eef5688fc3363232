#include <fmt/format.h>

#include <cmath>
#include <string>

#include "study/report/report.h"
#include "train/figures.h"

namespace sheaf::study {
namespace {

/// Returns a number as the page shows it: commas between thousands, so many digits.
std::string number_text(double value, int digits) {
  const std::string text = fmt::format("{:.{}f}", std::abs(value), digits);
  const std::string whole = text.substr(0, text.find('.'));
  const bool is_zero = text.find_first_not_of("0.") == std::string::npos;
  return (value < 0 && !is_zero ? "-" : "") + train::grouped(std::stoll(whole)) +
         text.substr(whole.size());
}

std::string cell_text(const Json& value, const Json& column) {
  if (value.is_null()) return "–";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "NO";
  if (value.is_number()) return number_text(value, column.value("digits", 0));
  std::string text = value;
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.insert(at, "\\");
  }
  return text;
}

std::string table_text(const Json& block) {
  std::string head = "|";
  std::string line = "|";
  for (const Json& column : block["columns"]) {
    const std::string unit = column.value("unit", "");
    head +=
        fmt::format(" {}{} |", column["name"].get<std::string>(), unit.empty() ? "" : ", " + unit);
    line += column.value("words", false) ? "---|" : "---:|";
  }
  std::string text = head + "\n" + line + "\n";
  for (const Json& row : block["rows"]) {
    text += "|";
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += " " + cell_text(row[i], block["columns"][i]) + " |";
    }
    text += "\n";
  }
  return text;
}

std::string block_text(const Json& block) {
  const std::string kind = block["kind"];
  std::string text;
  if (kind == "pair") {
    for (const Json& each : block["blocks"]) text += block_text(each);
    return text;
  }
  if (kind == "chart") return "";
  text = fmt::format("\n### {}\n\n", block.value("title", ""));
  if (kind == "table") text += table_text(block);
  if (kind == "checks") {
    for (const Json& item : block["items"]) {
      text += fmt::format(
          "- [{}] {}\n", item["ok"] == Json(true) ? "x" : " ", item["text"].get<std::string>());
    }
  }
  if (kind == "code") {
    text += "```\n";
    for (const Json& line : block["lines"]) text += line.get<std::string>() + "\n";
    text += "```\n";
  }
  const std::string note = block.value("note", "");
  return note.empty() ? text : text + "\n" + note + "\n";
}

}  // namespace

std::string report_markdown(const Json& report) {
  std::string text = fmt::format("# {}\n\n{}\n\n{}\n",
                                 report["title"].get<std::string>(),
                                 report["lead"].get<std::string>(),
                                 report.value("verdict", ""));
  for (const Json& section : report["sections"]) {
    text += fmt::format("\n## {}\n", section["title"].get<std::string>());
    for (const Json& paragraph : section["text"]) {
      text += "\n" + paragraph.get<std::string>() + "\n";
    }
    for (const Json& block : section["blocks"]) text += block_text(block);
  }
  return text + "\n" + report["footer"].get<std::string>() + "\n";
}

}  // namespace sheaf::study
