#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "data/token_source.h"

namespace sheaf::data {

/// Documents whose first tokens are in a list.
class ListedDocuments final : public DocumentIndex {
 public:
  /// `starts` go up.
  explicit ListedDocuments(std::vector<std::int64_t> starts) : starts_(std::move(starts)) {}

  [[nodiscard]] std::vector<std::int64_t> starts_in(std::int64_t begin,
                                                    std::int64_t count) const override;

 private:
  std::vector<std::int64_t> starts_;
};

/// Cuts a text behind each blank line, or several of them; the parts make the text again.
[[nodiscard]] std::vector<std::string_view> split_at_blank_lines(std::string_view text);

}  // namespace sheaf::data
