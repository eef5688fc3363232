#include "study/report/blocks.h"

namespace sheaf::study {

Json numbers(const std::string& name, const std::string& unit, int digits) {
  return {{"name", name}, {"unit", unit}, {"digits", digits}};
}

Json words(const std::string& name) { return {{"name", name}, {"words", true}}; }

Json table(const TableText& text, const Json& columns, const Json& rows) {
  return {{"kind", "table"},
          {"title", text.title},
          {"columns", columns},
          {"rows", rows},
          {"note", text.note}};
}

Json bars(const BarChart& chart) {
  const Json axis = {{"title", chart.unit}};
  return {{"kind", "chart"},
          {"type", "bar"},
          {"title", chart.title},
          {"labels", chart.labels},
          {"series", chart.series},
          {"stacked", chart.stacked},
          {"horizontal", chart.horizontal},
          {"tall", chart.horizontal},
          {chart.horizontal ? "x" : "y", axis},
          {"note", chart.note}};
}

Json series(const std::string& name, const Json& values) {
  return {{"name", name}, {"values", values}};
}

Json lines(const LineChart& chart) {
  return {{"kind", "chart"},
          {"type", chart.dots ? "scatter" : "line"},
          {"title", chart.title},
          {"series", chart.series},
          {"stacked", chart.stacked},
          {"x", {{"title", chart.x}}},
          {"y", {{"title", chart.y}}},
          {"note", chart.note}};
}

Json curve(const std::string& name, const Json& points) {
  return {{"name", name}, {"points", points}};
}

Json pair(const Json& left, const Json& right) {
  return {{"kind", "pair"}, {"blocks", Json::array({left, right})}};
}

Json section(const SectionText& text, const Json& blocks) {
  return {{"id", text.id},
          {"title", text.title},
          {"short", text.shortened},
          {"text", Json::array({text.text})},
          {"blocks", blocks}};
}

Json scaled(const Json& object, const char* key, double factor) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_number()) return {};
  return object[key].get<double>() * factor;
}

bool finished(const Json& row) { return row.contains("items_per_second"); }

}  // namespace sheaf::study
