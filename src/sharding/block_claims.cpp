#include "block_claims.h"

#include <torch/nn/module.h>

#include <algorithm>
#include <memory>
#include <mutex>

namespace sheaf::sharding {
namespace {

struct Entry {
  const torch::nn::Module* module = nullptr;
  /// Tells when the block has died, and its address may be another's; empty for a block that no
  /// shared pointer owns.
  std::weak_ptr<const torch::nn::Module> alive;
  bool owned = false;
  BlockOptions options;
};

/// Process-wide, because a block does not know its model, and ranks may be threads.
struct Table {
  std::mutex mutex;
  std::vector<Entry> entries;
};

Table& table() {
  static Table instance;
  return instance;
}

}  // namespace

void add_block_claim(const torch::nn::Module& block, const BlockOptions& options) {
  const std::lock_guard lock(table().mutex);
  std::erase_if(table().entries, [&](const Entry& entry) {
    return entry.module == &block || (entry.owned && entry.alive.expired());
  });
  std::weak_ptr<const torch::nn::Module> alive = block.weak_from_this();
  const bool owned = !alive.expired();
  table().entries.push_back({&block, std::move(alive), owned, options});
}

std::vector<BlockClaim> take_block_claims(const Inventory& inventory) {
  const std::lock_guard lock(table().mutex);
  std::vector<BlockClaim> claims;
  std::erase_if(table().entries, [&](const Entry& entry) {
    if (entry.owned && entry.alive.expired()) return true;
    for (std::size_t m = 0; m < inventory.modules.size(); ++m) {
      if (inventory.modules[m].module != entry.module) continue;
      claims.push_back({m, entry.options});
      return true;
    }
    return false;
  });
  return claims;
}

}  // namespace sheaf::sharding
