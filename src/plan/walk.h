#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sheaf/base/memory_purpose.h"
#include "sheaf/plan/architecture.h"

namespace sheaf::plan {

using memory::Purpose;

/// Some bytes of a walk, held until the last handle lets go, as tensors are.
using Held = std::shared_ptr<const void>;

/// Keeps account of what is held, one moment after the other, and of the most there was.
class Walk {
 public:
  explicit Walk(std::int64_t num_blocks);
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  /// Takes bytes for a purpose. No handle may outlive the walk.
  [[nodiscard]] Held take(Purpose purpose, std::int64_t bytes);

  /// Names what comes now: "backward", in a block or outside.
  void enter(const char* phase, int block = kNoBlock);

  struct Peak {
    std::int64_t total = 0;
    memory::ByPurpose purposes;
    /// Activations of each block; last those outside.
    std::vector<Bytes> activations;
    std::string moment;
  };
  [[nodiscard]] const Peak& peak() const { return peak_; }
  /// The most that was held for each purpose.
  [[nodiscard]] const memory::ByPurpose& highest() const { return highest_; }

 private:
  void change(Purpose purpose, std::size_t place, std::int64_t bytes);
  void note_peak();

  memory::ByPurpose current_;
  memory::ByPurpose highest_;
  std::vector<Bytes> activations_;
  std::int64_t total_ = 0;
  const char* phase_ = "";
  int block_ = kNoBlock;
  Peak peak_;
};

}  // namespace sheaf::plan
