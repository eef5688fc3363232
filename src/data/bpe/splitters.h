#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/bpe/definition.h"
#include "data/bpe/scanners.h"

namespace sheaf::data::bpe {

/// Parts of a text, none of them empty, and those that a step had to make anew.
struct Parts {
  std::vector<std::string_view> list;
  std::deque<std::string> made;
};

/// One step that splits the parts of a text further. Many threads may use one at once.
class Splitter {
 public:
  virtual ~Splitter() = default;
  /// Splits each of `parts.list`, which are well-formed UTF-8.
  virtual void split(Parts& parts) const = 0;
};

/// Makes what a step of a definition says. Throws UsageError for a pattern that cannot be.
[[nodiscard]] std::unique_ptr<const Splitter> make_splitter(const SplitStep& step);

/// Returns the one scanner that does all of a definition's splitting; nothing if there is more to
/// do.
[[nodiscard]] std::optional<Scanner> only_scanner(std::span<const SplitStep> steps);

}  // namespace sheaf::data::bpe
