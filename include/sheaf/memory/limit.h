#pragma once

#include <string>
#include <vector>

#include "sheaf/base/error.h"
#include "sheaf/base/units.h"
#include "sheaf/memory/holders.h"

namespace sheaf::memory {

/// A tensor did not fit below the limit, or into the system's memory. It has the names of those who
/// held memory at that moment.
class OutOfMemory final : public Error {
 public:
  struct Facts {
    Bytes wanted;
    Bytes in_use;
    /// 0 if there was none, and the system refused.
    Bytes limit;
    std::vector<Holder> holders;
  };

  explicit OutOfMemory(Facts facts, const std::string& prefix = "");
  [[nodiscard]] const Facts& facts() const { return facts_; }
  [[nodiscard]] std::exception_ptr with_prefix(const std::string& prefix) const override;

 private:
  Facts facts_;
};

/// Refuses CPU tensors with which this process would hold more than `limit`: they throw
/// OutOfMemory. The first refusal ends the limit, so that there is room to clean up and to tell. No
/// limit at 0. Needs count_cpu_tensors().
void limit_cpu_tensors(Bytes limit);

/// Lifts the limit for as long as it lives: for what is not part of a run.
class [[nodiscard]] LimitPause {
 public:
  LimitPause();
  ~LimitPause();
  LimitPause(const LimitPause&) = delete;
  LimitPause& operator=(const LimitPause&) = delete;
};

}  // namespace sheaf::memory
