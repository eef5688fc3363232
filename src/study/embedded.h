#pragma once

#include <string_view>

// Files that are inside the program, as they are.
namespace sheaf::study {

/// The PyTorch side of `sheaf bench`, in Python.
[[nodiscard]] std::string_view pytorch_peer();
/// Chart.js, with its licence on top.
[[nodiscard]] std::string_view chart_js();
/// What every page shares: looks, and how tables and charts are made of numbers.
[[nodiscard]] std::string_view page_css();
[[nodiscard]] std::string_view page_js();
/// What the live page does with a run's lines.
[[nodiscard]] std::string_view watch_js();

}  // namespace sheaf::study
