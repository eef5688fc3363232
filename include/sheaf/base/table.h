#pragma once

#include <string>
#include <vector>

namespace sheaf {

/// A small table of text for people: columns two spaces apart, no lines drawn. A column whose cells
/// all are numbers, with or without a unit, is aligned to the right; "-" stands for no value.
class Table {
 public:
  /// Makes a table without a header row.
  Table() = default;
  explicit Table(std::vector<std::string> header);

  /// Adds a row at the end. Throws std::logic_error if it is not as wide as what is above it.
  void add(std::vector<std::string> row);

  /// Returns the lines, each ended by a newline.
  [[nodiscard]] std::string str() const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace sheaf
