#pragma once

#include <string>

#include "results.h"

namespace sheaf::bench {

// Pieces of the page, in the order in which they are printed; all in markdown.

/// What is measured, with what, and the head of the table of sides.
[[nodiscard]] std::string heading(const Results& results);
/// Lines of the table of sides, compared with what ran before. The light has one by long stretches
/// of each product, one by bursts and, where that was measured, one by whole steps of them.
[[nodiscard]] std::string light_rows(const Results& results);
[[nodiscard]] std::string side_row(const Results& results, const Side& side);
/// The best time of every product and of attention.
[[nodiscard]] std::string light_page(const Results& results);
/// sheaf's time by class beside the light's, and what is left; the lines add up to the step.
[[nodiscard]] std::string budget_page(const Results& results);
[[nodiscard]] std::string closing(const Results& results);

}  // namespace sheaf::bench
