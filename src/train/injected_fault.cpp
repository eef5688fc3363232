#include "train/injected_fault.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <string_view>
#include <vector>

#include "base/quoting.h"
#include "sheaf/base/error.h"

namespace sheaf::train {
namespace {

constexpr std::string_view kGrammar =
    "expected KIND:key=value:... such as kill:rank=1:step=5, with keys rank, step, steps, time, "
    "unit, parameter, bit and value";

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw UsageError(fmt::format("fault.inject: {}, got {}", why, in_quotes(text)));
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(':', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

template <class Number>
Number number_in(const std::string& text, const std::string& key, const std::string& value) {
  Number number{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) {
    refuse(text, fmt::format("{} must be a number", key));
  }
  return number;
}

FaultKind kind_in(const std::string& text, const std::string& word) {
  std::string known;
  for (const auto& each : enum_names(FaultKind{})) {
    if (each.name == word) return each.value;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", each.name);
  }
  refuse(text, "the kinds of faults are " + known);
}

void set(InjectedFault& fault, const std::string& key, const std::string& value) {
  const std::string& text = fault.text;
  if (key == "rank") {
    fault.rank = number_in<int>(text, key, value);
  } else if (key == "step") {
    fault.step = number_in<std::int64_t>(text, key, value);
  } else if (key == "steps") {
    fault.steps = number_in<std::int64_t>(text, key, value);
  } else if (key == "time") {
    fault.time = parse_seconds(value);
  } else if (key == "unit" || key == "parameter") {
    fault.where = value;
  } else if (key == "bit") {
    fault.bit = number_in<int>(text, key, value);
  } else if (key == "value") {
    fault.value = number_in<double>(text, key, value);
  } else {
    refuse(text, std::string(kGrammar));
  }
}

void check(const InjectedFault& fault) {
  if (fault.step < 1) refuse(fault.text, "a fault needs the step it happens at, at least 1");
  if (fault.rank < 0) refuse(fault.text, "the rank must not be negative");
  if (fault.steps < 1) refuse(fault.text, "steps must be at least 1");
  if (fault.bit > 31) refuse(fault.text, "bit must be from 0 to 31");
}

}  // namespace

InjectedFault parse_fault(const std::string& text) {
  const std::vector<std::string> parts = parts_of(text);
  InjectedFault fault;
  fault.text = text;
  fault.kind = kind_in(text, parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto equals = parts[i].find('=');
    if (equals == std::string::npos) refuse(text, std::string(kGrammar));
    set(fault, parts[i].substr(0, equals), parts[i].substr(equals + 1));
  }
  check(fault);
  return fault;
}

}  // namespace sheaf::train
