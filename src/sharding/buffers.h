#pragma once

#include <vector>

#include "context.h"
#include "inventory.h"
#include "sheaf/memory/ledger.h"

namespace sheaf::sharding {

/// The model's buffers, which are not cut but may have to agree.
class Buffers {
 public:
  Buffers(const Context& context, const std::vector<BufferInfo>& buffers);

  /// Gives all ranks rank 0's values; one exchange per type.
  void broadcast();
  /// Does what the options say at the end of a pass.
  void end_pass();

 private:
  struct Pack {
    std::vector<at::Tensor> buffers;
    at::Tensor flat;
    memory::Charge charge;
  };
  void exchange(bool average);
  void take_memory(Pack& pack) const;

  const Context& context_;
  std::vector<Pack> packs_;
};

}  // namespace sheaf::sharding
