#include "sheaf/module/claim.h"

#include <torch/nn/module.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

namespace sheaf::module {
namespace {

// The claims on one module. A list is never changed, only replaced: forwards may hold it.
struct Claimed {
  std::weak_ptr<const torch::nn::Module> owner;
  // Modules on the stack have no owner that could tell when they are gone.
  bool owned = false;
  std::shared_ptr<const Claims> claims;

  [[nodiscard]] bool gone() const { return owned && owner.expired(); }
};

struct Table {
  std::shared_mutex mutex;
  std::unordered_map<const torch::nn::Module*, Claimed> by_module;
  // The size, to be read without the lock.
  std::atomic<std::size_t> num_modules{0};
};

// Never destroyed, so that handles may be static objects.
Table& table() {
  static auto* const all = new Table;
  return *all;
}

Claimed claimed(const torch::nn::Module& module, Claims claims) {
  auto owner = module.weak_from_this();
  const bool owned = !owner.expired();
  return {std::move(owner), owned, std::make_shared<const Claims>(std::move(claims))};
}

}  // namespace

ClaimHandle::ClaimHandle(ClaimHandle&& other) noexcept
    : module_(std::exchange(other.module_, nullptr)), claim_(std::move(other.claim_)) {}

ClaimHandle& ClaimHandle::operator=(ClaimHandle&& other) noexcept {
  if (this == &other) return *this;
  withdraw();
  module_ = std::exchange(other.module_, nullptr);
  claim_ = std::move(other.claim_);
  return *this;
}

ClaimHandle::~ClaimHandle() { withdraw(); }

void ClaimHandle::withdraw() noexcept {
  if (!claim_) return;
  // Both are destroyed last, without the lock.
  const std::shared_ptr<Claim> claim = std::move(claim_);
  std::shared_ptr<const Claims> before;
  Table& all = table();
  const std::unique_lock lock(all.mutex);
  const auto entry = all.by_module.find(module_);
  if (entry == all.by_module.end()) return;
  before = entry->second.claims;
  Claims left = *before;
  const auto own = std::find(left.begin(), left.end(), claim);
  // The module may be gone, and another one in its place.
  if (own == left.end()) return;
  left.erase(own);
  if (left.empty()) {
    all.by_module.erase(entry);
  } else {
    entry->second.claims = std::make_shared<const Claims>(std::move(left));
  }
  all.num_modules = all.by_module.size();
}

ClaimHandle claim(const torch::nn::Module& module, std::shared_ptr<Claim> claim) {
  ClaimHandle handle;
  handle.module_ = &module;
  // Destroyed last, without the lock.
  Claimed before;
  Table& all = table();
  const std::unique_lock lock(all.mutex);
  Claimed& entry = all.by_module[&module];
  before = entry;
  Claims claims;
  if (before.claims && !before.gone()) claims = *before.claims;
  claims.push_back(claim);
  entry = claimed(module, std::move(claims));
  all.num_modules = all.by_module.size();
  handle.claim_ = std::move(claim);
  return handle;
}

std::shared_ptr<const Claims> claims_on(const torch::nn::Module& module) {
  Table& all = table();
  if (all.num_modules == 0) return nullptr;
  const std::shared_lock lock(all.mutex);
  const auto entry = all.by_module.find(&module);
  if (entry == all.by_module.end() || entry->second.gone()) return nullptr;
  return entry->second.claims;
}

Tensors run_claims(const Claims& claims,
                   const Tensors& inputs,
                   std::function<Tensors(const Tensors&)> forward) {
  for (auto claim = claims.rbegin(); claim != claims.rend(); ++claim) {
    forward = [claim = *claim, inner = std::move(forward)](const Tensors& given) {
      return claim->run(given, inner);
    };
  }
  return forward(inputs);
}

}  // namespace sheaf::module
