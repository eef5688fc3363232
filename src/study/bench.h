#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sheaf/base/options.h"
#include "sheaf/train/options.h"
#include "study/json.h"

namespace sheaf::study {

/// Is told what begins now, for who waits.
using Progress = std::function<void(const std::string&)>;

/// Whose strategies are run beside ours.
enum class Against { nobody, pytorch };

constexpr auto enum_names(Against) {
  return std::array{EnumName{"nobody", Against::nobody}, EnumName{"pytorch", Against::pytorch}};
}

struct BenchOptions {
  train::RunOptions run;
  std::vector<std::string> strategies;
  int ranks = 4;
  std::int64_t steps = 20;
  /// Python with torch that runs PyTorch's own strategies beside ours; empty: none.
  std::string python = {};
};

/// Trains with each strategy, in processes of its own, and returns what docs/study.md describes.
/// Throws UsageError for what cannot be compared.
[[nodiscard]] Json run_bench(const BenchOptions& options,
                             const std::filesystem::path& folder,
                             const Progress& progress);

}  // namespace sheaf::study
