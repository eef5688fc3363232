#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sheaf/checkpoint/reader.h"
#include "sheaf/checkpoint/saver.h"

namespace sheaf::testing {

/// A few tensors of odd sizes and several types, and two other files.
[[nodiscard]] checkpoint::Contents sample_contents(std::int64_t step);

/// Returns the values of one of them; they depend on the name and the step.
[[nodiscard]] at::Tensor sample_values(const checkpoint::TensorSpec& tensor, std::int64_t step);

/// Returns what a rank saves when each tensor is cut evenly over the ranks.
[[nodiscard]] std::vector<checkpoint::Part> sample_parts(const checkpoint::Contents& contents,
                                                         int rank,
                                                         int ranks);

/// Files so small that even the sample has several.
[[nodiscard]] checkpoint::SaverOptions sample_options(const std::string& folder,
                                                      const comm::Group& group);

/// Saves a sample with options of its own and waits for it.
void save_sample(const checkpoint::SaverOptions& options, std::int64_t step);
/// The same alone, and with as many ranks.
void save_sample(const std::string& folder, std::int64_t step, int ranks = 1);

/// Reads every value, and throws unless it is the one of `step`.
void require_sample(const checkpoint::Reader& reader, std::int64_t step);

/// Removes what a killed run left, and returns the step that a new one would go on from after it
/// has compared every value; -1 if there is none.
[[nodiscard]] std::int64_t restored_sample(const std::string& folder);

}  // namespace sheaf::testing
