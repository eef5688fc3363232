#pragma once

#include <string>
#include <vector>

#include "study/json.h"

// What a report consists of. Pages show blocks as they are; all numbers stand in them.
namespace sheaf::study {

inline constexpr double kMiB = 1024.0 * 1024.0;

/// A column of numbers, or of words.
[[nodiscard]] Json numbers(const std::string& name, const std::string& unit, int digits);
[[nodiscard]] Json words(const std::string& name);

struct TableText {
  std::string title;
  std::string note = {};
};
/// `rows` is a list of lists, as wide as `columns`; null is shown as a dash.
[[nodiscard]] Json table(const TableText& text, const Json& columns, const Json& rows);

/// A bar for every label in each series, whose `values` are in the order of the labels.
struct BarChart {
  std::string title;
  std::string unit;
  Json labels;
  Json series;
  bool stacked = false;
  bool horizontal = false;
  std::string note = {};
};
[[nodiscard]] Json bars(const BarChart& chart);
[[nodiscard]] Json series(const std::string& name, const Json& values);

/// Lines or single points through `points` of x and y.
struct LineChart {
  std::string title;
  std::string x;
  std::string y;
  Json series;
  bool stacked = false;
  bool dots = false;
  std::string note = {};
};
[[nodiscard]] Json lines(const LineChart& chart);
[[nodiscard]] Json curve(const std::string& name, const Json& points);

/// Two blocks side by side where there is room.
[[nodiscard]] Json pair(const Json& left, const Json& right);

struct SectionText {
  std::string id;
  std::string title;
  std::string shortened;
  std::string text;
};
[[nodiscard]] Json section(const SectionText& text, const Json& blocks);

/// Returns a member that may be missing, multiplied; null where it is missing or null.
[[nodiscard]] Json scaled(const Json& object, const char* key, double factor = 1);

/// Tells whether a row is of a run that finished.
[[nodiscard]] bool finished(const Json& row);

}  // namespace sheaf::study
