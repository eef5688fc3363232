#include "sheaf/base/table.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace sheaf {
namespace {

struct Column {
  std::size_t width = 0;
  bool is_numeric = true;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_unit_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '%' || c == '/';
}

// Accepts "12", "-0.5", "3e-4", "64.0 MiB", "12%", and "-" or nothing for a missing value.
bool looks_numeric(std::string_view cell) {
  if (cell.empty() || cell == "-") return true;
  if (cell.front() == '-' || cell.front() == '+') cell.remove_prefix(1);
  if (cell.empty() || !is_digit(cell.front())) return false;
  cell.remove_prefix(std::min(cell.find_first_not_of("0123456789.,"), cell.size()));
  if (cell.size() > 2 && cell[0] == 'e' && (cell[1] == '-' || cell[1] == '+')) {
    return std::ranges::all_of(cell.substr(2), is_digit);
  }
  if (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
  return std::ranges::all_of(cell, is_unit_letter);
}

// Counts characters: every byte but those that continue one in UTF-8.
std::size_t width_of(std::string_view cell) {
  return static_cast<std::size_t>(std::ranges::count_if(
      cell, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

void append_row(std::string& text,
                const std::vector<std::string>& row,
                const std::vector<Column>& columns) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string padding(columns[i].width - width_of(row[i]), ' ');
    if (i > 0) line += "  ";
    line += columns[i].is_numeric ? padding + row[i] : row[i] + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + "\n";
}

}  // namespace

Table::Table(std::vector<std::string> header) : header_(std::move(header)) {}

void Table::add(std::vector<std::string> row) {
  const auto& above = rows_.empty() ? header_ : rows_.back();
  if (!above.empty() && row.size() != above.size()) {
    throw std::logic_error("a table of " + std::to_string(above.size()) + " columns got a row of " +
                           std::to_string(row.size()));
  }
  rows_.push_back(std::move(row));
}

std::string Table::str() const {
  const auto num_columns = rows_.empty() ? header_.size() : rows_.front().size();
  std::vector<Column> columns(num_columns);
  for (std::size_t i = 0; i < num_columns; ++i) {
    if (!header_.empty()) columns[i].width = width_of(header_[i]);
    for (const auto& row : rows_) {
      columns[i].width = std::max(columns[i].width, width_of(row[i]));
      columns[i].is_numeric = columns[i].is_numeric && looks_numeric(row[i]);
    }
  }
  std::string text;
  if (!header_.empty()) append_row(text, header_, columns);
  for (const auto& row : rows_) append_row(text, row, columns);
  return text;
}

}  // namespace sheaf
