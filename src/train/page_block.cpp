#include "train/page_block.h"

#include <sstream>

namespace sheaf::train {

std::string indented(const std::string& text, std::string_view indent) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) result.append(indent).append(line);
    result += "\n";
  }
  return result;
}

std::string block(const std::string& title, const Table& table) {
  return "\n  " + title + "\n" + indented(table.str(), "    ");
}

}  // namespace sheaf::train
