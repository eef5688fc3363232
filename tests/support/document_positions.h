#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

namespace sheaf::testing {

/// Returns positions [texts, length] of texts that are made of documents of these lengths.
inline at::Tensor document_positions(const std::vector<std::vector<std::int64_t>>& texts) {
  std::vector<at::Tensor> rows;
  for (const auto& lengths : texts) {
    std::vector<at::Tensor> documents;
    for (const std::int64_t length : lengths) documents.push_back(at::arange(length, at::kLong));
    rows.push_back(at::cat(documents));
  }
  return at::stack(rows);
}

}  // namespace sheaf::testing
