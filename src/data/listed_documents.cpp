#include "data/listed_documents.h"

#include <algorithm>

namespace sheaf::data {

std::vector<std::int64_t> ListedDocuments::starts_in(std::int64_t begin, std::int64_t count) const {
  const auto first = std::lower_bound(starts_.begin(), starts_.end(), begin);
  return {first, std::lower_bound(first, starts_.end(), begin + count)};
}

std::vector<std::string_view> split_at_blank_lines(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto blank = text.find("\n\n");
    const auto next = blank == std::string_view::npos ? blank : text.find_first_not_of('\n', blank);
    parts.push_back(text.substr(0, next));
    text.remove_prefix(parts.back().size());
  }
  return parts;
}

}  // namespace sheaf::data
