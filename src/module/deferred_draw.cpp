#include "module/deferred_draw.h"

#include "module/deferred_seed.h"

namespace sheaf::module {

std::uint64_t Draw::key(std::uint64_t seed, std::uint64_t own) const {
  if (fixed_) return mix(0, index_);
  return shared_ ? mix(seed, index_) : own;
}

std::uint64_t key_of(Draw& draw, std::size_t position, std::optional<Owner> owner) {
  if (!owner) draw.fix();
  const auto [seed, name] = owner.value_or(Owner{});
  return draw.key(seed, mix(mix(seed, name), position));
}

ConstructionScope& ConstructionScope::of_this_thread() {
  thread_local ConstructionScope scope;
  return scope;
}

bool ConstructionScope::leave() {
  if (--depth_ > 0) return false;
  for (const auto& copied : copied_) {
    const auto draw = copied.lock();
    if (draw != nullptr && draw.use_count() > 2) draw->share();
  }
  *this = {};
  return true;
}

}  // namespace sheaf::module
