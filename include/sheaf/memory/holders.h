#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sheaf/base/memory_purpose.h"
#include "sheaf/base/units.h"

namespace sheaf::memory {

/// Says what the CPU tensors are for that this thread makes from here to the end of the scope: a
/// purpose, and an owner such as a block's name. Of several scopes the innermost counts; without
/// any, tensors are temporary. A tensor stays with the purpose it was made for.
class [[nodiscard]] HeldFor {
 public:
  HeldFor(Purpose purpose, std::string_view owner);
  ~HeldFor();
  HeldFor(const HeldFor&) = delete;
  HeldFor& operator=(const HeldFor&) = delete;

 private:
  std::uint32_t outer_;
};

/// Who holds CPU tensors, and how much.
struct Holder {
  Purpose purpose = Purpose::temporary;
  std::string owner;
  Bytes bytes;
};

/// Returns who holds CPU tensors now; those who hold nothing are left out. Empty unless
/// count_cpu_tensors() was called.
[[nodiscard]] std::vector<Holder> cpu_holders();

[[nodiscard]] ByPurpose by_purpose(const std::vector<Holder>& holders);

}  // namespace sheaf::memory
